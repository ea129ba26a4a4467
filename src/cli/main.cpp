// kinglet: the desktop program.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <new>
#include <random>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/manual.h"
#include "cli/models.h"
#include "cli/terminal.h"

namespace kinglet::cli {
namespace {

// Of commands that compute with a model.
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

// Without an option its value is the file's, or else the usual one.
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

void add_image_options(CLI::App& command, ImageOptions& images, const char* where) {
  command.add_option("--image", images.files, where)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--mmproj", images.mmproj,
                     "What reads pictures: a GGUF file, or the address of one that was pulled "
                     "(default: the one beside the model)");
}

// Of commands that lay out a conversation.
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

#if defined(KINGLET_SERVER)
void add_serve_options(CLI::App& command, ServeOptions& options) {
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

int run(int argc, char** argv) {
  CLI::App app("Runs language models from GGUF files.");
  app.require_subcommand(1);
  app.allow_windows_style_options(false);  // of subcommands too: paths begin with / there as well
  std::function<Status()> command;

  GenerateOptions generating;
  auto* generate_command = app.add_subcommand("generate", "Continue a text");
  add_run_options(*generate_command, generating.run);
  generate_command->add_option("-p,--prompt", generating.prompt, "Text to continue");
  add_image_options(*generate_command, generating.images,
                    "PNG or JPEG file that stands where the prompt says <image>, or else in front "
                    "of it; may be given several times");
  generate_command->add_option("-n,--n-tokens", generating.generation.max_tokens, "Tokens at most")
      ->capture_default_str();
  generate_command->add_flag("--bos,!--no-bos", generating.add_bos,
                             "Begin with BOS where the model asks for it, or not");
  generate_command->add_flag("--special,!--no-special", generating.parse_special,
                             "Recognise control tokens in the prompt, or not");
  generate_command->add_option("--grammar", generating.grammar,
                               "GBNF file that the answer must match");
  add_sampler_options(*generate_command, generating.sampling);
  add_stop_option(*generate_command, generating.generation);
  add_lookup_option(*generate_command, generating.generation);
  generate_command->add_flag("--shift", generating.generation.shifts_context,
                             "Go on when the context is full: drop the older half");
  generate_command
      ->add_option("--keep", generating.generation.n_kept, "First tokens that --shift never drops")
      ->capture_default_str();
  std::optional<uint64_t> seed;
  generate_command->add_option("--seed", seed, "Seed of the sampler (default: random)");
  generate_command->add_flag("--speed", generating.show_speed, "Print tokens per second");
  generate_command->add_flag("--metrics", generating.run.measures_kernels,
                             "Print how long calls of kernels take, and what the run did, as JSON");
  generate_command->callback([&] {
    generating.generation.sampler.seed = seed ? *seed : std::random_device()();
    command = [&] { return generate(generating); };
  });

  ChatOptions chatting;
  chatting.generation.max_tokens = 2048;
  auto* chat_command = app.add_subcommand("chat", "Hold a conversation, a line at a time");
  add_run_options(*chat_command, chatting.run);
  add_chat_options(*chat_command, chatting);
  add_image_options(*chat_command, chatting.images,
                    "PNG or JPEG file in front of the first message; may be given several times");
  chat_command->add_flag("--trust-content", chatting.trust_content,
                         "Recognise control tokens in messages too");
  chat_command->add_option("-n,--n-tokens", chatting.generation.max_tokens, "Tokens of an answer")
      ->capture_default_str();
  add_sampler_options(*chat_command, chatting.sampling);
  add_stop_option(*chat_command, chatting.generation);
  add_lookup_option(*chat_command, chatting.generation);
  chat_command->add_option("--seed", seed, "Seed of the sampler (default: random)");
  chat_command->add_flag("--speed", chatting.show_speed, "Print tokens per second");
  chat_command->callback([&] {
    chatting.generation.sampler.seed = seed ? *seed : std::random_device()();
    command = [&] { return chat(chatting); };
  });

  PromptOptions prompting;
  auto* prompt_command = app.add_subcommand(
      "prompt", "Print the text that a conversation makes, messages ended by NUL");
  prompt_command->add_option("-m,--model", prompting.model, "GGUF file")->required();
  add_chat_options(*prompt_command, prompting);
  prompt_command->callback([&] { command = [&] { return prompt(prompting); }; });

  std::string inspected;
  auto* inspect_command = app.add_subcommand("inspect", "Print a file's metadata and tensors");
  inspect_command->add_option("model", inspected, "GGUF file")->required();
  inspect_command->callback([&] { command = [&] { return inspect(inspected); }; });

  LogprobsOptions logprobing;
  auto* logprobs_command = app.add_subcommand("logprobs", "Print log probabilities as JSON");
  add_run_options(*logprobs_command, logprobing.run);
  logprobs_command->add_option("--tokens", logprobing.tokens, "Ids of the context: 1,5,7")
      ->delimiter(',')
      ->required();
  logprobs_command
      ->add_option("--positions", logprobing.positions, "Positions to print (default: the last)")
      ->delimiter(',');
  logprobs_command->add_option("--greedy", logprobing.n_greedy, "Greedy tokens to add");
  logprobs_command->callback([&] { command = [&] { return logprobs(logprobing); }; });

  EmbedOptions embedding;
  auto* embed_command = app.add_subcommand("embed", "Print embeddings of texts as lines of JSON");
  add_encoder_options(*embed_command, embedding.encoder);
  embed_command->add_option("--pooling", embedding.pooling,
                            "none, mean, cls or last (default: the file's)");
  embed_command->add_option("--prompt", embedding.prompt,
                            "Text in front of each line, such as \"query: \"");
  embed_command
      ->add_option("--dimensions", embedding.dimensions,
                   "Keep the first numbers of each (default: all)")
      ->check(CLI::Range(1u, UINT32_MAX));
  embed_command->add_flag("--normalize", embedding.normalizes, "Scale each to length 1");
  embed_command->callback([&] { command = [&] { return embed(embedding); }; });

  RerankOptions ranking;
  auto* rerank_command =
      app.add_subcommand("rerank", "Print how well texts answer a query, as lines of JSON");
  add_encoder_options(*rerank_command, ranking.encoder);
  rerank_command->add_option("--query", ranking.query, "What is asked; not with --tokens");
  rerank_command->callback([&] { command = [&] { return rerank(ranking); }; });

#if defined(KINGLET_SERVER)
  ServeOptions serving;
  auto* serve_command = app.add_subcommand("serve", "Answer over HTTP as OpenAI's API does");
  add_serve_options(*serve_command, serving);
  serve_command->callback([&] { command = [&] { return serve(serving); }; });
#endif

  PerplexityOptions measuring;
  auto* perplexity_command =
      app.add_subcommand("perplexity", "Measure how well a text is foreseen");
  add_run_options(*perplexity_command, measuring.run);
  perplexity_command->add_option("-f,--file", measuring.file, "Text file")->required();
  perplexity_command->callback([&] { command = [&] { return perplexity(measuring); }; });

  TokenizeOptions tokenizing;
  auto* tokenize_command = app.add_subcommand("tokenize", "Print the ids of a text");
  tokenize_command->add_option("-m,--model", tokenizing.model, "GGUF file")->required();
  tokenize_command->add_option("--text", tokenizing.text, "Text (default: standard input)");
  tokenize_command->add_flag("--bos", tokenizing.add_bos, "Begin with BOS");
  tokenize_command->add_flag("--special", tokenizing.parse_special, "Recognise control tokens");
  tokenize_command->add_flag("-0,--null", tokenizing.many, "Texts end with NUL, as find -print0's");
  tokenize_command->callback([&] { command = [&] { return tokenize(tokenizing); }; });

  DetokenizeOptions detokenizing;
  auto* detokenize_command = app.add_subcommand("detokenize", "Print the text of ids");
  detokenize_command->add_option("-m,--model", detokenizing.model, "GGUF file")->required();
  detokenize_command->add_option("--ids", detokenizing.ids, "Ids: 1,5,7")
      ->delimiter(',')
      ->required();
  detokenize_command->add_flag("--special", detokenizing.special, "Show control tokens");
  detokenize_command->callback([&] { command = [&] { return detokenize(detokenizing); }; });

  QuantizeOptions quantizing;
  auto* quantize_command = app.add_subcommand("quantize", "Store a file's weights in another type");
  quantize_command->add_option("input", quantizing.input, "GGUF file to read")->required();
  quantize_command->add_option("output", quantizing.output, "GGUF file to write")->required();
  quantize_command->add_option("mix", quantizing.mix, "Mix of types: Q4_0, Q8_0, Q4_K_M, …")
      ->required();
  quantize_command->callback([&] { command = [&] { return quantize(quantizing); }; });

  std::string address;
  const auto add_address = [&](CLI::App& of) {
    of.add_option("address", address, "hf:owner/repo:TYPE or hf:owner/repo/file.gguf")->required();
  };
  auto* pull_command =
      app.add_subcommand("pull", "Download a model from the hub; -m takes its address then");
  add_address(*pull_command);
  pull_command->callback([&] { command = [&] { return pull(address); }; });
  app.add_subcommand("list", "Print the models that were pulled")->callback([&] {
    command = list_models;
  });
  auto* remove_command = app.add_subcommand("rm", "Delete a model that was pulled");
  add_address(*remove_command);
  remove_command->callback([&] { command = [&] { return remove_model(address); }; });

  std::string shell;
  auto* completions_command =
      app.add_subcommand("completions", "Print a script that completes commands in a shell");
  completions_command->add_option("shell", shell, "bash, fish or zsh")->required();
  completions_command->callback([&] {
    command = [&]() -> Status {
      KINGLET_ASSIGN(const std::string script, completions(app, shell));
      std::fputs(script.c_str(), stdout);
      return {};
    };
  });
  app.add_subcommand("man", "Print the manual page, for man -l")->callback([&] {
    command = [&]() -> Status {
      std::fputs(manual_page(app).c_str(), stdout);
      return {};
    };
  });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  const Status status = command();
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
