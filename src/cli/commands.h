// The commands of the desktop program. Each writes its result to standard output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "search/index.h"
#include "session/generation.h"
#include "session/sampler.h"

namespace kinglet::cli {

// Where the states of prompts are stored, so that prompts that begin alike are computed once.
struct PromptCacheOptions {
  std::string folder;    // "": nowhere
  uint64_t n_mb = 1024;  // of all states; the least recently used ones are removed
};

struct ModelOptions {
  std::string model;            // path of a GGUF file
  std::string tables = "auto";  // where embedding tables are: auto, memory, file
  uint32_t n_threads = 0;       // 0: the fastest number, at most half of the machine's or 2
  std::string kernels;          // "": the fastest
};

// How a model is run.
struct RunOptions : ModelOptions {
  uint32_t n_ctx = 0;  // 0: the model's
  std::string kv = "auto";
  uint32_t kv_page = 0;  // positions in a page of the KV cache; 0: the cache is in one piece
  bool measures_kernels = false;
  PromptCacheOptions prompt_cache;
};

// Pictures in the input of a model.
struct ImageOptions {
  std::vector<std::string> files;  // PNG, JPEG
  std::string mmproj;              // the file that reads them; "": the one in the model's folder
};

// How answers are made.
struct AnswerOptions {
  RunOptions run;
  SamplerChoice sampling;  // unset options are as the file recommends
  GenerationOptions generation;
  std::string schema;         // path of a JSON schema that answers must match; "": none
  bool open_objects = false;  // for the schema: see SchemaOptions
  bool show_speed = false;    // on standard error
};

struct GenerateOptions : AnswerOptions {
  std::string prompt;
  ImageOptions images;  // at each <image> in the prompt; without any, in front of the prompt
  bool add_bos = true;
  bool parse_special = true;
  std::string grammar;  // path of a GBNF file; "": none
};

struct ChatOptions : AnswerOptions {
  std::string system;
  ImageOptions images;        // of the first message
  std::string format;         // a built-in chat format; "": the file's template
  std::string chat_template;  // path of a Jinja file, used instead of both
  std::string tools;          // path of a JSON file: a list of tools as in OpenAI's API; "": none
  std::string tool_choice;    // auto, none, required or a tool's name; "": auto
  bool thinking = true;
  bool trust_content = false;     // control tokens spelled in messages are read as control tokens
  Json request = Json::object();  // further members of the requests of OpenAI's API
};

struct PrepareOptions {
  RunOptions run;
  std::string system;         // path of a text file, the system message; "": none
  std::string messages;       // path of a JSON file: a list of messages; "": none
  std::string tools;          // path of a JSON file: a list of tools as in OpenAI's API; "": none
  std::string format;         // a built-in chat format; "": the file's template
  std::string chat_template;  // path of a Jinja file, used instead of both
  std::string output;
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

struct EncoderOptions : ModelOptions {
  std::vector<TokenId> tokens;  // of a single text; empty: each line of standard input is a text
  bool cuts = false;            // cut texts that are longer than the model's context
};

struct EmbedOptions {
  EncoderOptions encoder;
  std::string pooling;      // none, mean, cls, last; "": the file's
  std::string prompt;       // in front of each line
  uint32_t dimensions = 0;  // keep this many first numbers of each vector; 0: all
  bool normalizes = false;  // scale vectors to length 1
};

struct RerankOptions {
  EncoderOptions encoder;
  std::string query;  // the lines are scored as answers to it
};

struct IndexOptions {
  EncoderOptions encoder;
  SearchOptions search;
  std::string index;   // folder of the stored documents
  std::string folder;  // of the files that become documents
};

struct SearchCommandOptions {
  IndexOptions index;  // without `folder`
  std::string query;
  size_t limit = 10;
  bool hybrid = false;
};

struct ClassifyOptions {
  EncoderOptions encoder;
  std::vector<std::string> labels;  // empty: those of the file's head
  std::string instruction;
  std::vector<std::string> examples;  // LABEL=TEXT
  std::string chat_template;          // path of a Jinja file, used instead of the model's
  bool per_token = false;
};

struct PerplexityOptions {
  RunOptions run;
  std::string file;  // text
};

struct ImatrixOptions {
  RunOptions run;
  std::string file;  // text
  std::string output = "imatrix.gguf";
  bool replaces = false;  // an output that exists; never an input
};

struct ServeOptions {
  RunOptions run;
  SamplerChoice sampling;  // for requests that set none; unset options are as the file recommends
  std::string name;        // of the model; "": the file's
  std::string host = "127.0.0.1";
  int port = 8080;  // 0: a free one
  std::string api_key;
  std::string cors;           // origin whose pages may send requests
  std::string page;           // folder of a page; "": the demo page, if it was built
  std::string mmproj;         // the file that reads pictures; "": pictures are not supported
  std::string chat_template;  // path of a Jinja file, used instead of the model's
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
  std::string mix;        // of types, such as Q4_K_M: see gguf/recipe.h
  std::string imatrix;    // path of an importance matrix; "": all weights of a matrix count alike
  bool replaces = false;  // an output that exists; never the input
};

// Streams the continuation of the prompt. If the run measures its kernels, writes JSON to standard
// error: {kernels: {name, calls, microseconds}, time_to_first_token, prefill_tokens_per_s,
// decode_tokens_per_s, bytes: {weights, kv, recurrent, scratch}}.
Status generate(GenerateOptions options);

// Answers each message of standard input, until the input ends.
Status chat(ChatOptions options);

// Computes the beginning of a conversation, and writes the state after it to a file, from which
// pages and programs restore it. Writes its size to standard error.
Status prepare(const PrepareOptions& options);

// Prints the text that a chat model would receive. The messages come from standard input, each
// ended by NUL; the user's and the assistant's alternate.
Status prompt(const PromptOptions& options);

// Prints the file's metadata and tensors.
Status inspect(const std::string& model);

// Prints JSON: {tokens, positions: [{position, argmax, logprobs}], greedy}. Logprobs are natural
// logarithms.
Status logprobs(const LogprobsOptions& options);

// Prints a line of JSON for each text: {pooling, embedding}, or {pooling: "none",
// token_embeddings}.
Status embed(const EmbedOptions& options);

// Prints a line of JSON for each text, in the order of the texts: {score, scores}. `scores` has one
// score for each label, and `score` is the first. A larger score is a better answer to the query.
Status rerank(const RerankOptions& options);
Status classify(const ClassifyOptions& options);

// Indexes the texts of a folder, so that search() finds their passages: computes what is new or has
// changed, and removes what is gone. Writes the numbers of documents to standard error. Errors: io.
Status index(const IndexOptions& options);

// Prints a line of JSON for each passage, the best first: {id, score, begin, end, text}. `id` is
// the file's path in its folder, and [begin, end) are bytes of its text.
Status search(const SearchCommandOptions& options);

// Prints JSON: {perplexity, windows, window_tokens, counted}. It is computed as in llama.cpp: the
// text is cut into windows as long as the context. Each begins with BOS if the model uses one, and
// only its second half counts.
Status perplexity(const PerplexityOptions& options);

// Computes a text in chunks as long as the context, and writes how large the activations are that
// each column of the layers' matrices is multiplied by: see gguf/importance.h. Errors:
// invalid_argument (as in quantize(), or a text shorter than a chunk).
Status imatrix(const ImatrixOptions& options);

// Serves OpenAI's API over HTTP until a signal ends it. Writes a line for each request to standard
// error.
Status serve(const ServeOptions& options);

// Converts the input's weights to other types, and writes the output file. Writes the sizes of both
// and their mixes of types to standard error. Errors: invalid_argument (the output exists, unless
// it may be replaced, or is the input).
Status quantize(const QuantizeOptions& options);

// Prints the token ids on one line. With `many`, prints a line for each text.
Status tokenize(const TokenizeOptions& options);

// Prints the text of the ids.
Status detokenize(const DetokenizeOptions& options);

}  // namespace kinglet::cli
