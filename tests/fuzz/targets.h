// The fuzz targets. Each target takes any bytes, does with them what a page could be made to do,
// and reports what must never happen. libFuzzer finds inputs (see CMakeLists.txt), and
// replay_test.cpp runs the inputs that were kept, on every platform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace kinglet::fuzz {

using Bytes = std::span<const uint8_t>;

void json(Bytes input);           // JSON, read and printed
void gguf(Bytes input);           // headers, whole and in pieces
void vocabulary(Bytes input);     // tokenizers that a header describes
void dequantize(Bytes input);     // blocks of every type
void quantize(Bytes input);       // weights to every type that has an encoder
void kernels(Bytes input);        // every kernel set against scalar
void attention(Bytes input);      // the same for attention over every kind of cache
void kv(Bytes input);             // calls of a KV store, compared with a simple model of it
void spm(Bytes input);            // text to SentencePiece-style tokens and back
void bpe(Bytes input);            // text to byte-level tokens and back, every pre-tokenizer
void wordpiece(Bytes input);      // text to WordPiece tokens and back
void unigram(Bytes input);        // text to unigram tokens and back
void chat_template(Bytes input);  // templates and conversations
void jinja_program(Bytes input);  // valid programs in the language of templates
void answer(Bytes input);         // answers of models, with thoughts and calls of tools
void grammar(Bytes input);        // grammars, and ways through them
void schema(Bytes input);         // JSON schemas, and answers under them
void sampler(Bytes input);        // options and logits
void state(Bytes input);          // saved sessions, damaged
void record(Bytes input);         // documents of a search index, damaged
void model(Bytes input);          // whole files, loaded and run
void vision(Bytes input);         // picture readers, and pictures
void picture(Bytes input);        // picture files
void hub(Bytes input);            // addresses on the hub, and its listings
void server(Bytes input);         // a server's connections
void request(Bytes input);        // requests to a server

struct Target {
  std::string_view name;
  void (*run)(Bytes input);
};

constexpr Target kTargets[] = {
    {"json", json},
    {"gguf", gguf},
    {"vocabulary", vocabulary},
    {"dequantize", dequantize},
    {"quantize", quantize},
    {"kernels", kernels},
    {"attention", attention},
    {"kv", kv},
    {"spm", spm},
    {"bpe", bpe},
    {"wordpiece", wordpiece},
    {"unigram", unigram},
    {"chat_template", chat_template},
    {"jinja_program", jinja_program},
    {"answer", answer},
    {"grammar", grammar},
    {"schema", schema},
    {"sampler", sampler},
    {"state", state},
    {"record", record},
    {"model", model},
    {"vision", vision},
    {"picture", picture},
    {"hub", hub},
#ifdef KINGLET_SERVER
    {"server", server},
    {"request", request},
#endif
};

// The program that runs the targets defines what a report does: it ends the program, or fails the
// test.
void report(std::string_view what);

inline void check(bool holds, std::string_view what) {
  if (!holds) report(what);
}

}  // namespace kinglet::fuzz
