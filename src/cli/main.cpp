// kinglet: the desktop program.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "base/misspelling.h"
#include "chat/conversation_prompt.h"
#include "cli/commands.h"
#include "cli/hub.h"
#include "cli/input.h"
#include "cli/manual.h"
#include "cli/models.h"
#include "cli/terminal.h"
#include "hub/repository.h"
#include "session/thread_choice.h"

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

// An empty value mostly comes from a shell variable that is not set, and would be read as 0, or as
// if the option were not there.
const CLI::Validator kFilled(
    [](std::string& value) { return std::string(value.empty() ? "the value is empty" : ""); }, "");

// Adds the options of commands that compute with a model.
void add_model_options(CLI::App& command, ModelOptions& options) {
  command
      .add_option("-m,--model", options.model, "GGUF file, or the hub address of a pulled model")
      ->required();
  command
      .add_option("--embedding-tables", options.tables,
                  "Where embedding tables are kept: memory, file, or auto (in the file from "
                  "64 MiB on)")
      ->check(CLI::IsMember({"auto", "memory", "file"}))
      ->capture_default_str();
  command
      .add_option("--threads", options.n_threads,
                  "Number of threads (default: the fastest; at most half of the machine's, or 2)")
      ->check(CLI::Range(1u, kProgramThreads.most));
  command.add_option("--kernels", options.kernels,
                     "Kernel set: scalar, avx2, avx-vnni, avx512-vnni; on ARM scalar, neon, "
                     "neon-dotprod, neon-i8mm (default: the fastest)");
}

void add_encoder_options(CLI::App& command, EncoderOptions& options) {
  add_model_options(command, options);
  command
      .add_option(
          "--tokens", options.tokens,
          "Token ids of one text, used as they are: 1,5,7 (default: each line of input is a text)")
      ->delimiter(',');
  command.add_flag("--cut", options.cuts, "Shorten texts that are longer than the model's context");
}

// The default of commands that measure the model itself.
constexpr const char* kExactKv = "f32";

void add_run_options(CLI::App& command, RunOptions& run) {
  add_model_options(command, run);
  command.add_option("--ctx", run.n_ctx, "Size of the context, in tokens (default: the model's)")
      ->check(CLI::Range(1u, UINT32_MAX));
  command
      .add_option(
          "--kv", run.kv,
          "KV cache: KIND, or k=KIND,v=KIND; auto, f32, f16, int8, fp8_e4m3, fp8_e5m2, q8, q4")
      ->capture_default_str();
  command.add_option("--kv-page", run.kv_page, "Tokens per page of the KV cache; 0: no pages")
      ->capture_default_str();
}

void add_prompt_cache_options(CLI::App& command, PromptCacheOptions& cache) {
  CLI::Option* folder = command.add_option(
      "--prompt-cache", cache.folder,
      "Folder for the states of long prompts, so that prompts that begin alike are computed once");
  command
      .add_option("--prompt-cache-mb", cache.n_mb,
                  "Size of that folder, in MiB; the least recently used states are removed")
      ->capture_default_str()
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 30))
      ->needs(folder);
}

// Adds the options of the sampler. An option that is not given has the value that the file
// recommends, or else the default.
void add_sampler_options(CLI::App& command, SamplerChoice& sampling) {
  const SamplerOptions usual;
  for (const SamplingOption& option : sampling_options()) {
    const auto choose = [&sampling, &option](auto value) {
      sampling.numbers.push_back({&option, static_cast<double>(value)});
    };
    const bool has_flag = !option.flag.empty();
    const std::string flag =
        cat("--", has_flag ? std::string(option.flag) : hyphenated(option.name));
    const char* otherwise = option.key.empty() ? "" : "the file's, or ";
    const std::string text = cat(option.help, " (default: ", otherwise, option.get(usual), ")");
    if (option.is_whole()) {
      command.add_option_function<int32_t>(flag, choose, text);
    } else {
      command.add_option_function<float>(flag, choose, text);
    }
  }
  using Texts = std::vector<std::string>;
  command
      .add_option_function<Texts>(
          "--dry-sequence-breaker",
          [&sampling](const Texts& texts) {
            sampling.dry_sequence_breakers = texts == Texts{"none"} ? Texts() : texts;
          },
          "Text at which DRY's search for repetitions stops, or none; may be given several "
          "times (default: a line break, a colon, a quotation mark, an asterisk)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_image_options(CLI::App& command, ImageOptions& images, const char* where) {
  command.add_option("--image", images.files, where)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--mmproj", images.mmproj,
                     "Picture reader (mmproj): GGUF file, or the hub address of a pulled model "
                     "(default: the one beside the model)");
}

CLI::Option* add_chat_template(CLI::App& command, std::string& path) {
  return command.add_option("--chat-template", path,
                            "File with a Jinja template, used instead of the model's");
}

// Adds the options of commands that make answers, and returns that of the schema's file.
CLI::Option* add_answer_options(CLI::App& command, AnswerOptions& options) {
  GenerationOptions& generation = options.generation;
  CLI::Option* schema = command.add_option("--schema", options.schema,
                                           "File with a JSON schema that the answer must match");
  command
      .add_flag("--open-objects", options.open_objects,
                "Allow properties that the schema's objects do not name")
      ->needs(schema);
  command
      .add_option("-n,--n-tokens", generation.max_tokens, "Maximum number of tokens of an answer")
      ->capture_default_str();
  add_sampler_options(command, options.sampling);
  command
      .add_option("--stop", generation.stop, "Stop before this text; may be given several times")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--lookup", generation.n_lookup,
                  "Tokens to guess at a time where the text repeats itself; 0: none")
      ->check(CLI::Range(0u, kMostGuesses))
      ->capture_default_str();
  generation.sampler.seed = std::random_device()();
  command.add_option("--seed", generation.sampler.seed,
                     "Random seed of the sampler (default: a new one)");
  command.add_flag("--speed", options.show_speed, "Print tokens per second");
  return schema;
}

// Adds the options of commands that may choose another template than the model's.
template <class Options>
void add_layout_options(CLI::App& command, Options& options) {
  command.add_option("--format", options.format,
                     "Name of a built-in chat format (default: the file's template)");
  add_chat_template(command, options.chat_template)->excludes("--format");
}

// Adds the options of commands that render a conversation.
template <class Options>
void add_chat_options(CLI::App& command, Options& options) {
  command.add_option("--system", options.system, "System message");
  add_layout_options(command, options);
  command.add_flag("--thinking,!--no-thinking", options.thinking,
                   "Whether models that can think before the answer do so");
}

void add_generate(Program& program) {
  auto [command, options] =
      add_command<GenerateOptions>(program, "generate", "Continue a text", generate);
  add_run_options(command, options.run);
  add_prompt_cache_options(command, options.run.prompt_cache);
  command.add_option("-p,--prompt", options.prompt, "Text to continue");
  add_image_options(command, options.images,
                    "PNG or JPEG file for an <image> in the prompt or, without one, before the "
                    "prompt; may be given several times");
  command.add_flag("--bos,!--no-bos", options.add_bos,
                   "Whether to begin with BOS if the model asks for it");
  command.add_flag("--special,!--no-special", options.parse_special,
                   "Whether to recognize control tokens in the prompt");
  command.add_option("--grammar", options.grammar, "GBNF file that the answer must match");
  add_answer_options(command, options)->excludes("--grammar");
  command.add_flag("--shift", options.generation.shifts_context,
                   "If the context is full, drop the older half and continue");
  command
      .add_option("--keep", options.generation.n_kept,
                  "Number of tokens at the beginning that --shift never drops")
      ->capture_default_str();
  command.add_flag("--metrics", options.run.measures_kernels,
                   "Print the times of kernel calls, and statistics of the run, as JSON");
}

void add_chat(Program& program) {
  auto [command, options] = add_command<ChatOptions>(
      program, "chat", "Chat with the model; each line is a message", chat);
  add_run_options(command, options.run);
  add_prompt_cache_options(command, options.run.prompt_cache);
  add_chat_options(command, options);
  add_image_options(command, options.images,
                    "PNG or JPEG file, added before the first message; may be given several times");
  command.add_option("--tools", options.tools,
                     "JSON file with a list of tools, as in OpenAI's API, that the model may call; "
                     "the line after a call is its result");
  command.add_option("--tool-choice", options.tool_choice,
                     "Whether the model calls tools: auto, none, required, or the name of a tool "
                     "that it must call (default: auto)");
  add_answer_options(command, options);
  Json& request = options.request;
  command.add_option_function<uint32_t>(
      "--max-thinking-tokens", [&request](uint32_t n) { request["max_thinking_tokens"] = n; },
      "Maximum number of tokens of a thought (default: no limit)");
  command.add_flag("--trust-content", options.trust_content,
                   "Also recognize control tokens in messages");
  command.add_option_function<std::string>(
      "--on-full",
      [&request](const std::string& name) {
        if (!find_on_full(name)) {
          throw CLI::ValidationError("--on-full", cat("expected ", kOnFullNames));
        }
        request["on_full"] = name;
      },
      "What to do when a conversation fills the context: error, dropOldest (leave the oldest "
      "messages out) or shift (also drop the older half of the context while answering)");
}

void add_prompt(Program& program) {
  auto [command, options] = add_command<PromptOptions>(
      program, "prompt", "Print the prompt of a conversation; messages end with NUL", prompt);
  command.add_option("-m,--model", options.model, "GGUF file")->required();
  add_chat_options(command, options);
}

void add_inspect(Program& program) {
  auto [command, model] =
      add_command<std::string>(program, "inspect", "Print a file's metadata and tensors", inspect);
  command.add_option("model", model, "GGUF file")->required();
}

void add_prepare(Program& program) {
  auto [command, options] = add_command<PrepareOptions>(
      program, "prepare", "Store the state after a conversation's beginning", prepare);
  add_run_options(command, options.run);
  command.add_option("--system", options.system, "Text file with the system message")
      ->check(kFilled);
  command.add_option("--messages", options.messages, "JSON file with a list of messages");
  command.add_option("--tools", options.tools,
                     "JSON file with a list of tools, as in OpenAI's API");
  add_layout_options(command, options);
  command.add_option("-o,--output", options.output, "The file to write: NAME.kprompt")->required();
}

void add_logprobs(Program& program) {
  auto [command, options] = add_command<LogprobsOptions>(
      program, "logprobs", "Print log probabilities as JSON", logprobs);
  options.run.kv = kExactKv;
  add_run_options(command, options.run);
  command.add_option("--tokens", options.tokens, "Token ids of the context: 1,5,7")
      ->delimiter(',')
      ->required();
  command
      .add_option("--positions", options.positions, "Positions to print (default: the last one)")
      ->delimiter(',');
  command.add_option("--greedy", options.n_greedy, "Number of greedy tokens to generate");
}

void add_embed(Program& program) {
  auto [command, options] = add_command<EmbedOptions>(
      program, "embed", "Print embeddings of texts, one line of JSON each", embed);
  add_encoder_options(command, options.encoder);
  command.add_option("--pooling", options.pooling, "none, mean, cls or last (default: the file's)");
  command.add_option("--prompt", options.prompt,
                     "Text to put before each line, such as \"query: \"");
  command
      .add_option("--dimensions", options.dimensions,
                  "Keep only the first N numbers of each embedding (default: all)")
      ->check(CLI::Range(1u, UINT32_MAX));
  command.add_flag("--normalize", options.normalizes, "Scale each embedding to length 1");
}

void add_rerank(Program& program) {
  auto [command, options] = add_command<RerankOptions>(
      program, "rerank", "Print how well texts answer a query, as scores, one line of JSON each",
      rerank);
  add_encoder_options(command, options.encoder);
  command.add_option("--query", options.query, "The query; not with --tokens");
}

// The options of commands that open an index.
void add_index_options(CLI::App& command, IndexOptions& options) {
  add_model_options(command, options.encoder);
  command.add_option("--index", options.index, "Folder where the index is stored")->required();
  command.add_option("--query-prompt", options.search.query_prompt,
                     "Text to put before each query (default: as known models need it)");
  command.add_option("--passage-prompt", options.search.passage_prompt,
                     "Text to put before each passage (default: as known models need it)");
  command.add_option("--passage-tokens", options.search.max_tokens, "The most tokens of a passage")
      ->check(CLI::Range(1u, UINT32_MAX));
}

void add_index(Program& program) {
  auto [command, options] = add_command<IndexOptions>(
      program, "index", "Index the texts of a folder, so that search finds them by meaning", index);
  add_index_options(command, options);
  command.add_option("folder", options.folder, "Folder whose texts are indexed")->required();
}

void add_search(Program& program) {
  auto [command, options] = add_command<SearchCommandOptions>(
      program, "search", "Print the passages that answer a query, one line of JSON each", search);
  add_index_options(command, options.index);
  command.add_option("--limit", options.limit, "The most passages")->check(CLI::Range(1u, 100000u));
  command.add_flag("--hybrid", options.hybrid,
                   "Rank passages also by the words that they share with the query");
  command.add_option("query", options.query, "The query")->required();
}

void add_classify(Program& program) {
  auto [command, options] = add_command<ClassifyOptions>(
      program, "classify", "Print how probable labels are for texts, one line of JSON each",
      classify);
  add_model_options(command, options.encoder);
  command
      .add_option("--label", options.labels,
                  "A label; given for each (default: those of the model's head)")
      ->allow_extra_args(false);
  command.add_option("--instruction", options.instruction,
                     "What the labels mean (default: asks for one of the labels)");
  command
      .add_option("--example", options.examples,
                  "LABEL=TEXT: a text with its label; may be given several times")
      ->allow_extra_args(false);
  command.add_flag("--per-token", options.per_token,
                   "Score labels by the mean of their tokens' log probabilities, not the sum");
  add_chat_template(command, options.chat_template);
}

#if defined(KINGLET_SERVER)
void add_serve(Program& program) {
  auto [command, options] =
      add_command<ServeOptions>(program, "serve", "Run an HTTP server with OpenAI's API", serve);
  options.run.kv_page = kDefaultPagePositions;
  add_run_options(command, options.run);
  add_prompt_cache_options(command, options.run.prompt_cache);
  command.get_option("--kv-page")
      ->description("Tokens per page of the KV cache; answers can share pages")
      ->check(CLI::Range(1u, UINT32_MAX));
  add_sampler_options(command, options.sampling);
  command.add_option("--name", options.name, "Name of the model (default: the file's)");
  command.add_option("--mmproj", options.mmproj,
                     "Picture reader (mmproj): GGUF file, or the hub address of a pulled model");
  add_chat_template(command, options.chat_template);
  command
      .add_option("--host", options.host,
                  "Address to listen on; one other than localhost "
                  "allows requests from other machines")
      ->capture_default_str();
  command.add_option("--port", options.port, "Port; 0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command.add_option("--api-key", options.api_key, "Key that requests must contain")
      ->envname("KINGLET_API_KEY");
  command.add_option("--cors", options.cors,
                     "Origin whose pages may send requests, or * (default: the server's own)");
  command.add_option("--page", options.page,
                     "Folder of the page to serve (default: the demo page, if built)");
  command
      .add_option("--parallel", options.n_parallel,
                  "Number of answers that are computed at the same time")
      ->check(CLI::Range(1u, 256u))
      ->capture_default_str();
  command.add_option("--max-queue", options.n_queue, "Maximum number of waiting requests")
      ->check(CLI::Range(0u, 4096u))
      ->capture_default_str();
  command.add_option("--pool", options.pool,
                     "Size of the KV cache that all answers share, in tokens (default: a context "
                     "for each answer)");
  command.add_option("--max-body", options.max_body, "Maximum size of a request, in bytes")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 32))
      ->capture_default_str();
  command
      .add_option("--timeout", options.timeout,
                  "Maximum time for an answer, in seconds, including its wait in the queue")
      ->check(CLI::Range(1u, 86400u))
      ->capture_default_str();
}
#endif

void add_perplexity(Program& program) {
  auto [command, options] = add_command<PerplexityOptions>(
      program, "perplexity", "Measure how well the model predicts a text", perplexity);
  options.run.kv = kExactKv;
  add_run_options(command, options.run);
  command.add_option("-f,--file", options.file, "Text file")->required();
}

void add_imatrix(Program& program) {
  auto [command, options] = add_command<ImatrixOptions>(
      program, "imatrix", "Measure which weights matter for a text, for quantize --imatrix",
      imatrix);
  options.run.kv = kExactKv;
  add_run_options(command, options.run);
  command.get_option("--ctx")->description(
      "Size of the chunks of the text, in tokens (default: 512, or the model's context)");
  command.add_option("-f,--file", options.file, "Text file")->required();
  command.add_option("-o,--output", options.output, "GGUF file to write")->capture_default_str();
  command.add_flag("--force", options.replaces, "Replace the output file if it exists");
}

void add_tokenize(Program& program) {
  auto [command, options] =
      add_command<TokenizeOptions>(program, "tokenize", "Print the token ids of a text", tokenize);
  command.add_option("-m,--model", options.model, "GGUF file")->required();
  command.add_option("--text", options.text, "Text (default: standard input)");
  command.add_flag("--bos", options.add_bos, "Begin with BOS");
  command.add_flag("--special", options.parse_special, "Recognize control tokens");
  command.add_flag("-0,--null", options.many,
                   "Texts end with NUL, like the output of find -print0");
}

void add_detokenize(Program& program) {
  auto [command, options] = add_command<DetokenizeOptions>(
      program, "detokenize", "Print the text of token ids", detokenize);
  command.add_option("-m,--model", options.model, "GGUF file")->required();
  command.add_option("--ids", options.ids, "Token ids: 1,5,7")->delimiter(',')->required();
  command.add_flag("--special", options.special, "Show control tokens");
}

void add_quantize(Program& program) {
  auto [command, options] = add_command<QuantizeOptions>(
      program, "quantize", "Convert a file's weights to other types", quantize);
  command.add_option("input", options.input, "GGUF file to read")->required();
  command.add_option("output", options.output, "GGUF file to write")->required();
  command.add_option("mix", options.mix, "Mix of types: Q4_0, Q8_0, Q4_K_M, IQ3_M, …")->required();
  command.add_option("--imatrix", options.imatrix,
                     "Importance matrix of the model (kinglet imatrix, llama.cpp's imatrix)");
  command.add_flag("--force", options.replaces, "Replace the output file if it exists");
}

// Adds the commands for models that are pulled from the hub.
void add_model_commands(Program& program) {
  const auto add = [&](const char* name, const char* text, Status (*run)(const std::string&)) {
    auto [command, address] = add_command<std::string>(program, name, text, run);
    command.add_option("address", address, "hf:owner/repo:TYPE or hf:owner/repo/file.gguf")
        ->required();
  };
  add("pull", "Download a model from the hub; -m then accepts its address", pull);
  program.app.add_subcommand("list", "Print all pulled models")->callback([&program] {
    program.action = list_models;
  });
  add("rm", "Delete a pulled model", remove_model);
}

void add_completions(Program& program) {
  const auto print = [&app = program.app](const std::string& shell) -> Status {
    KINGLET_ASSIGN(const std::string script, completions(app, shell));
    std::fputs(script.c_str(), stdout);
    return {};
  };
  auto [command, shell] = add_command<std::string>(
      program, "completions", "Print a script for completing commands in a shell", print);
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

// Returns a question whether another name was meant; without one, where to find the known names.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names,
                         std::string_view lists) {
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view meant = meant_by(word, known);
  return meant.empty() ? cat(lists, " lists them") : cat("did you mean ", meant, "?");
}

// Returns what is wrong with the arguments. The first one that is neither a command nor an option
// of its command explains what CLI11 noticed.
std::string explain(const CLI::ParseError& error, const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::string name = chosen.empty() ? "kinglet" : "kinglet " + command.get_name();
  const std::string help = name + " --help";
  const auto remaining = command.remaining();
  if (remaining.empty()) return cat(error.what(), "; see ", help);
  std::string word = remaining.front();
  std::vector<std::string> known;
  if (word.size() > 1 && word.starts_with('-')) {
    word.resize(std::min(word.size(), word.find('=')));
    for (const CLI::Option* option : options_of(command)) {
      for (const std::string& spelling : spellings(*option)) known.push_back(spelling);
    }
    return cat(name, " has no option ", in_quotes(word), "; ", did_you_mean(word, known, help));
  }
  if (!chosen.empty()) {
    return cat(name, " does not take the argument ", in_quotes(word), "; see ", help);
  }
  if (is_gguf_name(word) || is_hub_address(word)) {
    return cat("a model is given with -m: kinglet chat -m ", word);
  }
  for (const CLI::App* other : commands_of(app)) known.push_back(other->get_name());
  return cat(name, " has no command ", in_quotes(word), "; ", did_you_mean(word, known, help));
}

// A model would read another encoding as noise.
const CLI::Validator kUtf8(
    [](std::string& value) {
      const Status status = check_utf8("value", value);
      return status.ok() ? std::string() : status.error().message;
    },
    "");

// CLI11 itself says of a value that is not a number only that it could not convert it.
template <class Number>
CLI::Validator reads_as(const char* wanted) {
  const auto check = [wanted](std::string& value) {
    Number number{};
    const bool is_read = CLI::detail::lexical_cast(value, number);
    return is_read ? std::string() : cat(in_quotes(value), " is not ", wanted);
  };
  return {check, ""};
}

// Refuses values of numbers that are not numbers, texts that are not UTF-8, and other values that
// are empty.
void check_values(CLI::App& app) {
  constexpr std::string_view kTexts[] = {"--system",
                                         "--prompt",
                                         "--text",
                                         "--query-prompt",
                                         "--passage-prompt",
                                         "--query",
                                         "--instruction",
                                         "--label",
                                         "--example",
                                         "--stop",
                                         "query",
                                         "--name",
                                         "--dry-sequence-breaker"};
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    for (CLI::Option* option : command->get_options([](CLI::Option*) { return true; })) {
      const bool has_value = option->get_items_expected_max() > 0;
      if (has_value) option->check(is_among(option->get_name(), kTexts) ? kUtf8 : kFilled);
      const std::string type = option->get_type_name();
      if (type.starts_with("FLOAT")) option->check(reads_as<double>("a number"));
      if (type.starts_with("INT")) option->check(reads_as<int64_t>("a whole number"));
      if (type.starts_with("UINT")) {
        option->check(reads_as<uint64_t>("a whole number of at least 0"));
      }
    }
  }
}

// Returns the error of a stream that failed while nobody looked: on a full disk, or if standard
// input is a folder.
Status check_streams() {
  std::cout.flush();
  const bool is_flushed = std::fflush(stdout) == 0;
  const std::string reason = is_flushed ? "" : cat(": ", std::strerror(errno));
  if (!is_flushed || std::ferror(stdout) != 0 || !std::cout) {
    return Error{ErrorCode::io, cat("not all of the output could be written", reason)};
  }
  if (std::ferror(stdin) == 0) return {};
  return Error{ErrorCode::io, "standard input cannot be read"};
}

int run(int argc, char** argv) {
  Program program;
  program.app.set_version_flag("--version", "kinglet " KINGLET_VERSION);
  program.app.require_subcommand(1);
  program.app.allow_windows_style_options(false);  // inherited by subcommands; paths begin with /
  add_generate(program);
  add_chat(program);
  add_prompt(program);
  add_inspect(program);
  add_prepare(program);
  add_logprobs(program);
  add_embed(program);
  add_rerank(program);
  add_index(program);
  add_search(program);
  add_classify(program);
#if defined(KINGLET_SERVER)
  add_serve(program);
#endif
  add_perplexity(program);
  add_imatrix(program);
  add_tokenize(program);
  add_detokenize(program);
  add_quantize(program);
  add_model_commands(program);
  add_completions(program);
  add_manual(program);
  check_values(program.app);

  try {
    program.app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      report(explain(error, program.app));
      return 1;
    }
    program.app.exit(error);  // prints the help or the version
    program.action = [] { return Status(); };
  }
  Status status = program.action();
  if (status.ok()) status = check_streams();
  if (!status.ok()) report(status.error().message);
  return status.ok() ? 0 : 1;
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
    kinglet::cli::report(error.what());
  }
  return 1;
}
