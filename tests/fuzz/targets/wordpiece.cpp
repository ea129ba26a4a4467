// WordPiece vocabularies, with every way to prepare a text.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/input.h"
#include "fuzz/targets/text.h"
#include "gguf/gguf_builder.h"

namespace kinglet::fuzz {
namespace {

std::unique_ptr<Tokenizer> make_wordpiece(bool lowercase, bool strip_accents) {
  std::vector<std::string> texts = {"[PAD]", "[UNK]", "[CLS]", "[SEP]"};
  std::vector<int32_t> types = {3, 3, 3, 3};
  for (const char* text :
       {"▁the", "▁t", "h",  "e",   "he", "▁a",  "a",  "an", "and", "▁and", "aaa", "▁'",
        "▁s",   "▁.", "▁,", "▁中", "ы",  "▁ᄀ", "ᅡ", "▁é", "▁i",  "▁[",   "▁▁"}) {
    texts.emplace_back(text);
    types.push_back(1);
  }
  GgufBuilder builder;
  builder.set("tokenizer.ggml.model", "bert")
      .set_array("tokenizer.ggml.tokens", texts)
      .set_array("tokenizer.ggml.token_type", types)
      .set_uint32("tokenizer.ggml.unknown_token_id", 1)
      .set_uint32("tokenizer.ggml.bos_token_id", 2)
      .set_uint32("tokenizer.ggml.seperator_token_id", 3)
      .set_bool("tokenizer.ggml.normalizer.lowercase", lowercase)
      .set_bool("tokenizer.ggml.normalizer.strip_accents", strip_accents);
  const auto file = builder.build();
  const auto header = parse_gguf_header(file);
  return std::move(Tokenizer::from_gguf(header.value()).value());
}

}  // namespace

void wordpiece(Bytes bytes) {
  static const std::array tokenizers = {make_wordpiece(true, true), make_wordpiece(true, false),
                                        make_wordpiece(false, true), make_wordpiece(false, false)};
  Input input(bytes);
  const uint32_t choice = input.up_to(tokenizers.size());
  const std::string_view text = input.rest_text();
  if (choice == tokenizers.size()) return check_ids(*tokenizers[0], text);
  check_text(*tokenizers[choice], text, std::nullopt);
}

}  // namespace kinglet::fuzz
