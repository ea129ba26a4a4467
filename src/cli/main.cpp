// kinglet: the desktop program.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <string>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/manual.h"
#include "cli/models.h"
#include "cli/terminal.h"

namespace kinglet::cli {
namespace {

struct Program {
  CLI::App app{"Runs language models from GGUF files."};
  std::function<Status()> action;  // of the subcommand that was chosen
};

// A subcommand and the options that it sets. Both live as long as the program.
template <class Options>
struct Command {
  CLI::App& command;
  Options& options;
};

// Adds a subcommand whose action is run(options).
template <class Options, class Run>
Command<Options> add_command(Program& program, const char* name, const char* text, Run run) {
  CLI::App& command = *program.app.add_subcommand(name, text);
  const auto options = std::make_shared<Options>();
  command.callback([&action = program.action, options, run] {
    action = [options, run] { return run(*options); };
  });
  return {command, *options};
}

// Adds the options of commands that compute with a model.
template <class Options>
void add_model_options(CLI::App& command, Options& options) {
  command
      .add_option("-m,--model", options.model, "GGUF file, or the address of one that was pulled")
      ->required();
  command
      .add_option("--embedding-tables", options.tables,
                  "Tables that are read by rows only: in memory, left in the file, or auto: there "
                  "from 64 MiB on")
      ->check(CLI::IsMember({"auto", "memory", "file"}))
      ->capture_default_str();
  command
      .add_option("--threads", options.n_threads,
                  "Threads (default: the fastest number, at most half of the machine's or 2)")
      ->check(CLI::Range(1u, 1024u));
  command.add_option("--kernels", options.kernels,
                     "Kernel set: scalar, avx2, avx-vnni, avx512-vnni; on ARM scalar, neon, "
                     "neon-dotprod, neon-i8mm (default: the fastest)");
}

void add_encoder_options(CLI::App& command, EncoderOptions& options) {
  add_model_options(command, options);
  command
      .add_option(
          "--tokens", options.tokens,
          "Ids of one text, nothing added: 1,5,7 (default: lines of standard input are texts)")
      ->delimiter(',');
  command.add_flag("--cut", options.cuts, "Cut texts that are longer than the model's context");
}

void add_run_options(CLI::App& command, RunOptions& run) {
  add_model_options(command, run);
  command.add_option("--ctx", run.n_ctx, "Positions in the context (default: the model's)")
      ->check(CLI::Range(1u, UINT32_MAX));
  command
      .add_option("--kv", run.kv,
                  "KV cache: KIND, or k=KIND,v=KIND; f32, f16, int8, fp8_e4m3, fp8_e5m2, q8, q4")
      ->capture_default_str();
  command
      .add_option("--kv-page", run.kv_page, "Positions in a page of the KV cache; 0: in one piece")
      ->capture_default_str();
}

// Adds the options of the sampler. An option that is not given has the value that the file
// recommends, or else the default.
void add_sampler_options(CLI::App& command, SamplerChoice& sampling) {
  const SamplerOptions usual;
  const auto add = [&](const char* name, auto& option, const char* text, auto otherwise) {
    command.add_option(name, option, cat(text, " (default: the file's, or ", otherwise, ")"));
  };
  add("--temp", sampling.temperature, "Temperature; 0 is greedy", usual.temperature);
  add("--top-k", sampling.top_k, "Keep the k most probable; 0 keeps all", usual.top_k);
  add("--top-p", sampling.top_p, "Keep the fewest that reach this probability", usual.top_p);
  add("--min-p", sampling.min_p, "Keep those above this part of the largest", usual.min_p);
  add("--repeat-penalty", sampling.repeat_penalty, "Above 1: repeat less", usual.repeat_penalty);
  add("--repeat-last-n", sampling.repeat_last_n, "Tokens the penalties look back",
      usual.repeat_last_n);
  command.add_option("--frequency-penalty", sampling.frequency_penalty,
                     "Taken off a token's logit for each time it was seen (default: 0)");
  command.add_option("--presence-penalty", sampling.presence_penalty,
                     "Taken off a token's logit once it was seen (default: 0)");
}

void add_stop_option(CLI::App& command, GenerationOptions& generation) {
  command.add_option("--stop", generation.stop, "End before this text; may be given several times")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_lookup_option(CLI::App& command, GenerationOptions& generation) {
  command
      .add_option("--lookup", generation.n_lookup,
                  "Tokens to guess at a time where the context repeats itself; 0: none")
      ->check(CLI::Range(0u, kMostGuesses))
      ->capture_default_str();
}

// Without this option each run has a random seed.
void add_seed_option(CLI::App& command, GenerationOptions& generation) {
  generation.sampler.seed = std::random_device()();
  command.add_option("--seed", generation.sampler.seed, "Seed of the sampler (default: random)");
}

void add_image_options(CLI::App& command, ImageOptions& images, const char* where) {
  command.add_option("--image", images.files, where)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--mmproj", images.mmproj,
                     "What reads pictures: a GGUF file, or the address of one that was pulled "
                     "(default: the one beside the model)");
}

// Adds the options of commands that render a conversation.
template <class Options>
void add_chat_options(CLI::App& command, Options& options) {
  command.add_option("--system", options.system, "System message");
  command.add_option("--format", options.format, "Chat format by name (default: the file's)");
  command
      .add_option("--chat-template", options.chat_template,
                  "File with a Jinja template in place of the model's")
      ->excludes("--format");
  command.add_flag("--thinking,!--no-thinking", options.thinking,
                   "Let models that reason first do so, or not");
}

void add_generate(Program& program) {
  auto [command, options] =
      add_command<GenerateOptions>(program, "generate", "Continue a text", generate);
  add_run_options(command, options.run);
  command.add_option("-p,--prompt", options.prompt, "Text to continue");
  add_image_options(command, options.images,
                    "PNG or JPEG file that stands where the prompt says <image>, or else in front "
                    "of it; may be given several times");
  command.add_option("-n,--n-tokens", options.generation.max_tokens, "Tokens at most")
      ->capture_default_str();
  command.add_flag("--bos,!--no-bos", options.add_bos,
                   "Begin with BOS where the model asks for it, or not");
  command.add_flag("--special,!--no-special", options.parse_special,
                   "Recognise control tokens in the prompt, or not");
  command.add_option("--grammar", options.grammar, "GBNF file that the answer must match");
  add_sampler_options(command, options.sampling);
  add_stop_option(command, options.generation);
  add_lookup_option(command, options.generation);
  command.add_flag("--shift", options.generation.shifts_context,
                   "Go on when the context is full: drop the older half");
  command.add_option("--keep", options.generation.n_kept, "First tokens that --shift never drops")
      ->capture_default_str();
  add_seed_option(command, options.generation);
  command.add_flag("--speed", options.show_speed, "Print tokens per second");
  command.add_flag("--metrics", options.run.measures_kernels,
                   "Print how long calls of kernels take, and what the run did, as JSON");
}

void add_chat(Program& program) {
  auto [command, options] =
      add_command<ChatOptions>(program, "chat", "Hold a conversation, a line at a time", chat);
  options.generation.max_tokens = 2048;
  add_run_options(command, options.run);
  add_chat_options(command, options);
  add_image_options(command, options.images,
                    "PNG or JPEG file in front of the first message; may be given several times");
  command.add_flag("--trust-content", options.trust_content,
                   "Recognise control tokens in messages too");
  command.add_option("-n,--n-tokens", options.generation.max_tokens, "Tokens of an answer")
      ->capture_default_str();
  add_sampler_options(command, options.sampling);
  add_stop_option(command, options.generation);
  add_lookup_option(command, options.generation);
  add_seed_option(command, options.generation);
  command.add_flag("--speed", options.show_speed, "Print tokens per second");
}

void add_prompt(Program& program) {
  auto [command, options] = add_command<PromptOptions>(
      program, "prompt", "Print the text that a conversation makes, messages ended by NUL", prompt);
  command.add_option("-m,--model", options.model, "GGUF file")->required();
  add_chat_options(command, options);
}

void add_inspect(Program& program) {
  auto [command, model] =
      add_command<std::string>(program, "inspect", "Print a file's metadata and tensors", inspect);
  command.add_option("model", model, "GGUF file")->required();
}

void add_logprobs(Program& program) {
  auto [command, options] = add_command<LogprobsOptions>(
      program, "logprobs", "Print log probabilities as JSON", logprobs);
  add_run_options(command, options.run);
  command.add_option("--tokens", options.tokens, "Ids of the context: 1,5,7")
      ->delimiter(',')
      ->required();
  command.add_option("--positions", options.positions, "Positions to print (default: the last)")
      ->delimiter(',');
  command.add_option("--greedy", options.n_greedy, "Greedy tokens to add");
}

void add_embed(Program& program) {
  auto [command, options] = add_command<EmbedOptions>(
      program, "embed", "Print embeddings of texts as lines of JSON", embed);
  add_encoder_options(command, options.encoder);
  command.add_option("--pooling", options.pooling, "none, mean, cls or last (default: the file's)");
  command.add_option("--prompt", options.prompt, "Text in front of each line, such as \"query: \"");
  command
      .add_option("--dimensions", options.dimensions,
                  "Keep the first numbers of each (default: all)")
      ->check(CLI::Range(1u, UINT32_MAX));
  command.add_flag("--normalize", options.normalizes, "Scale each to length 1");
}

void add_rerank(Program& program) {
  auto [command, options] = add_command<RerankOptions>(
      program, "rerank", "Print how well texts answer a query, as lines of JSON", rerank);
  add_encoder_options(command, options.encoder);
  command.add_option("--query", options.query, "What is asked; not with --tokens");
}

#if defined(KINGLET_SERVER)
void add_serve(Program& program) {
  auto [command, options] =
      add_command<ServeOptions>(program, "serve", "Answer over HTTP as OpenAI's API does", serve);
  options.run.kv_page = kDefaultPagePositions;
  add_run_options(command, options.run);
  command.get_option("--kv-page")
      ->description("Positions in a page of the KV cache, which answers can share")
      ->check(CLI::Range(1u, UINT32_MAX));
  add_sampler_options(command, options.sampling);
  command.add_option("--name", options.name, "Name of the model (default: the file's)");
  command.add_option("--mmproj", options.mmproj,
                     "What reads pictures: a GGUF file, or the address of one that was pulled");
  command
      .add_option("--host", options.host,
                  "Address to listen at; others than this machine's "
                  "let others ask")
      ->capture_default_str();
  command.add_option("--port", options.port, "Port; 0: a free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command.add_option("--api-key", options.api_key, "Key that requests must bring")
      ->envname("KINGLET_API_KEY");
  command.add_option("--cors", options.cors,
                     "Origin whose pages may ask, or * (default: those of the server itself)");
  command.add_option("--page", options.page, "Folder of a page (default: the demo page, if built)");
  command.add_option("--parallel", options.n_parallel, "Answers that are computed at a time")
      ->check(CLI::Range(1u, 256u))
      ->capture_default_str();
  command.add_option("--max-queue", options.n_queue, "Requests that wait beside them, at most")
      ->check(CLI::Range(0u, 4096u))
      ->capture_default_str();
  command.add_option("--pool", options.pool,
                     "Positions of the KV cache that all answers share (default: a context for "
                     "each at a time)");
  command.add_option("--max-body", options.max_body, "Bytes of a request, at most")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 32))
      ->capture_default_str();
  command.add_option("--timeout", options.timeout, "Seconds for an answer, waiting included")
      ->check(CLI::Range(1u, 86400u))
      ->capture_default_str();
}
#endif

void add_perplexity(Program& program) {
  auto [command, options] = add_command<PerplexityOptions>(
      program, "perplexity", "Measure how well a text is foreseen", perplexity);
  add_run_options(command, options.run);
  command.add_option("-f,--file", options.file, "Text file")->required();
}

void add_tokenize(Program& program) {
  auto [command, options] =
      add_command<TokenizeOptions>(program, "tokenize", "Print the ids of a text", tokenize);
  command.add_option("-m,--model", options.model, "GGUF file")->required();
  command.add_option("--text", options.text, "Text (default: standard input)");
  command.add_flag("--bos", options.add_bos, "Begin with BOS");
  command.add_flag("--special", options.parse_special, "Recognise control tokens");
  command.add_flag("-0,--null", options.many, "Texts end with NUL, as find -print0's");
}

void add_detokenize(Program& program) {
  auto [command, options] =
      add_command<DetokenizeOptions>(program, "detokenize", "Print the text of ids", detokenize);
  command.add_option("-m,--model", options.model, "GGUF file")->required();
  command.add_option("--ids", options.ids, "Ids: 1,5,7")->delimiter(',')->required();
  command.add_flag("--special", options.special, "Show control tokens");
}

void add_quantize(Program& program) {
  auto [command, options] = add_command<QuantizeOptions>(
      program, "quantize", "Store a file's weights in another type", quantize);
  command.add_option("input", options.input, "GGUF file to read")->required();
  command.add_option("output", options.output, "GGUF file to write")->required();
  command.add_option("mix", options.mix, "Mix of types: Q4_0, Q8_0, Q4_K_M, …")->required();
}

// Adds the commands for models that are pulled from the hub.
void add_model_commands(Program& program) {
  const auto add = [&](const char* name, const char* text, Status (*run)(const std::string&)) {
    auto [command, address] = add_command<std::string>(program, name, text, run);
    command.add_option("address", address, "hf:owner/repo:TYPE or hf:owner/repo/file.gguf")
        ->required();
  };
  add("pull", "Download a model from the hub; -m takes its address then", pull);
  program.app.add_subcommand("list", "Print the models that were pulled")->callback([&program] {
    program.action = list_models;
  });
  add("rm", "Delete a model that was pulled", remove_model);
}

void add_completions(Program& program) {
  const auto print = [&app = program.app](const std::string& shell) -> Status {
    KINGLET_ASSIGN(const std::string script, completions(app, shell));
    std::fputs(script.c_str(), stdout);
    return {};
  };
  auto [command, shell] = add_command<std::string>(
      program, "completions", "Print a script that completes commands in a shell", print);
  command.add_option("shell", shell, "bash, fish or zsh")->required();
}

void add_manual(Program& program) {
  program.app.add_subcommand("man", "Print the manual page, for man -l")->callback([&program] {
    program.action = [&program]() -> Status {
      std::fputs(manual_page(program.app).c_str(), stdout);
      return {};
    };
  });
}

int run(int argc, char** argv) {
  Program program;
  program.app.require_subcommand(1);
  program.app.allow_windows_style_options(false);  // inherited by subcommands; paths begin with /
  add_generate(program);
  add_chat(program);
  add_prompt(program);
  add_inspect(program);
  add_logprobs(program);
  add_embed(program);
  add_rerank(program);
#if defined(KINGLET_SERVER)
  add_serve(program);
#endif
  add_perplexity(program);
  add_tokenize(program);
  add_detokenize(program);
  add_quantize(program);
  add_model_commands(program);
  add_completions(program);
  add_manual(program);

  try {
    program.app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.app.exit(error) == 0 ? 0 : 1;
  }
  const Status status = program.action();
  if (!status.ok()) {
    std::fprintf(stderr, "kinglet: %s\n", status.error().message.c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace kinglet::cli

int main(int argc, char** argv) {
  try {
    kinglet::cli::prepare_streams();
    return kinglet::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "kinglet: out of memory\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kinglet: %s\n", error.what());
  }
  return 1;
}
