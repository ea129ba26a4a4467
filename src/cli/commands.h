// The commands of the desktop program. Each writes its answer to standard output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/generation.h"
#include "session/sampler.h"

namespace kinglet::cli {

// How a model is run.
struct RunOptions {
  std::string model;            // path of a GGUF file
  std::string tables = "auto";  // where embedding tables are: auto, memory, file
  uint32_t n_threads = 0;       // 0: as many as are fastest, at most half of the machine's or 2
  std::string kernels;          // "": the fastest
  uint32_t n_ctx = 0;           // 0: the model's
  std::string kv = "f32";
  uint32_t kv_page = 0;  // positions in a page of the KV cache; 0: it is in one piece
  bool measures_kernels = false;
};

// Pictures in what a model is given.
struct ImageOptions {
  std::vector<std::string> files;  // PNG, JPEG
  std::string mmproj;              // what reads them; "": the one beside the model
};

struct GenerateOptions {
  RunOptions run;
  SamplerChoice sampling;  // the rest is as the file recommends
  std::string prompt;
  ImageOptions images;  // where the prompt says <image>, or else in front of it
  bool add_bos = true;
  bool parse_special = true;
  GenerationOptions generation;
  std::string grammar;      // path of a GBNF file; "": none
  bool show_speed = false;  // on standard error
};

struct ChatOptions {
  RunOptions run;
  SamplerChoice sampling;  // the rest is as the file recommends
  std::string system;
  ImageOptions images;        // of the first message
  std::string format;         // a built-in chat format; "": the file's template
  std::string chat_template;  // path of a Jinja file in place of either
  bool thinking = true;
  bool trust_content = false;  // what messages spell are control tokens too
  GenerationOptions generation;
  bool show_speed = false;  // on standard error
};

struct PromptOptions {
  std::string model;
  std::string system;
  std::string format;
  std::string chat_template;
  bool thinking = true;
};

struct LogprobsOptions {
  RunOptions run;
  std::vector<TokenId> tokens;
  std::vector<uint32_t> positions;  // empty: the last one
  uint32_t n_greedy = 0;
};

struct EncoderOptions {
  std::string model;
  std::string tables = "auto";  // where embedding tables are: auto, memory, file
  uint32_t n_threads = 0;       // 0: at most half of the machine's or 2
  std::string kernels;          // "": the fastest
  std::vector<TokenId> tokens;  // of the one text; none: the lines of standard input are texts
  bool cuts = false;            // texts that are longer than the model's context
};

struct EmbedOptions {
  EncoderOptions encoder;
  std::string pooling;      // none, mean, cls, last; "": the file's
  std::string prompt;       // in front of each line
  uint32_t dimensions = 0;  // first numbers to keep of a vector; 0: all
  bool normalizes = false;  // vectors to length 1
};

struct RerankOptions {
  EncoderOptions encoder;
  std::string query;  // that lines are scored for
};

struct PerplexityOptions {
  RunOptions run;
  std::string file;  // text
};

struct ServeOptions {
  RunOptions run;
  SamplerChoice sampling;  // of requests that leave it out; the rest is as the file recommends
  std::string name;        // of the model; "": the file's
  std::string host = "127.0.0.1";
  int port = 8080;  // 0: a free one
  std::string api_key;
  std::string cors;    // origin whose pages may ask
  std::string page;    // folder of a page; "": the demo page, if it was built
  std::string mmproj;  // what reads pictures; "": nothing does
  uint32_t n_parallel = 4;
  uint32_t n_queue = 64;
  uint32_t pool = 0;  // positions that all answers share; 0: n_parallel contexts
  uint64_t max_body = uint64_t{8} << 20;
  uint32_t timeout = 600;  // seconds
};

struct TokenizeOptions {
  std::string model;
  std::optional<std::string> text;  // absent: standard input
  bool add_bos = false;
  bool parse_special = false;
  bool many = false;  // texts end with NUL
};

struct DetokenizeOptions {
  std::string model;
  std::vector<TokenId> ids;
  bool special = false;
};

struct QuantizeOptions {
  std::string input;
  std::string output;
  std::string mix;  // of types, such as Q4_K_M: see gguf/recipe.h
};

// Streams the continuation of the prompt. Where the run measures its kernels, standard error
// receives JSON: {kernels: {name, calls, microseconds}, time_to_first_token, prefill_tokens_per_s,
// decode_tokens_per_s, bytes: {weights, kv, scratch}}.
Status generate(GenerateOptions options);

// Answers line by line what standard input says, until it ends.
Status chat(ChatOptions options);

// The text that a chat model would be given: of messages on standard input, each ended by NUL, the
// user's and the assistant's in turn.
Status prompt(const PromptOptions& options);

// The file's metadata and tensors.
Status inspect(const std::string& model);

// JSON: {tokens, positions: [{position, argmax, logprobs}], greedy}, natural logarithms.
Status logprobs(const LogprobsOptions& options);

// A line of JSON for each text: {pooling, embedding}, or {pooling: "none", token_embeddings}.
Status embed(const EmbedOptions& options);

// A line of JSON for each text, in their order: {score, scores}: of each label, and the first of
// them. A larger one is a better answer to the query.
Status rerank(const RerankOptions& options);

// JSON: {perplexity, windows, window_tokens, counted}. Counted as llama.cpp does: the text is cut
// into windows as long as the context, each begins with BOS where the model wants one, and the
// second half of each counts.
Status perplexity(const PerplexityOptions& options);

// Answers over HTTP, in the form of OpenAI's API, until a signal ends it. Lines for requests go to
// standard error.
Status serve(const ServeOptions& options);

// Writes the input's weights in another type.
Status quantize(const QuantizeOptions& options);

// The ids on one line; a line for each text where there are many.
Status tokenize(const TokenizeOptions& options);

// The text of the ids.
Status detokenize(const DetokenizeOptions& options);

}  // namespace kinglet::cli
