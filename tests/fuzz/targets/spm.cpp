// SentencePiece-style vocabularies: one with a token for every byte, one with an unknown token
// instead.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/input.h"
#include "fuzz/targets/text.h"
#include "gguf/gguf_builder.h"

namespace kinglet::fuzz {
namespace {

std::unique_ptr<Tokenizer> make_spm(bool with_bytes, bool add_space_prefix) {
  std::vector<std::string> texts = {"<unk>", "<s>", "</s>", "<|user|>"};
  std::vector<int32_t> types = {2, 3, 3, 4};
  for (int byte = 0; with_bytes && byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", byte);
    texts.emplace_back(text);
    types.push_back(6);
  }
  for (const char* text :
       {"▁",    "t",  "h",    "e", "a", "n",  "d",    "▁t", "he", "▁the", "an",  "▁an", "and",
        "▁and", "▁▁", "▁▁▁▁", "é", "ы", "中", "中文", "🚀",  "\n", "aa",   "aaa", "aaaa"}) {
    texts.emplace_back(text);
    types.push_back(1);
  }
  std::vector<float> scores;
  for (size_t i = 0; i < texts.size(); ++i) scores.push_back(static_cast<float>(i * 7 % 23));
  GgufBuilder builder;
  builder.set("tokenizer.ggml.model", "llama")
      .set_array("tokenizer.ggml.tokens", texts)
      .set_array("tokenizer.ggml.scores", scores)
      .set_array("tokenizer.ggml.token_type", types)
      .set_uint32("tokenizer.ggml.unknown_token_id", 0)
      .set_uint32("tokenizer.ggml.bos_token_id", 1)
      .set_bool("tokenizer.ggml.add_space_prefix", add_space_prefix);
  const auto file = builder.build();
  const auto header = parse_gguf_header(file);
  return std::move(Tokenizer::from_gguf(header.value()).value());
}

// U+2581 has the same spelling as a space.
std::string with_spaces(std::string_view text) {
  std::string out(text);
  for (size_t at = 0; (at = out.find("▁", at)) != std::string::npos;) out.replace(at, 3, " ");
  return out;
}

}  // namespace

void spm(Bytes bytes) {
  static const auto with_bytes = make_spm(true, true);
  static const auto without_prefix = make_spm(true, false);
  static const auto with_unknown = make_spm(false, true);
  Input input(bytes);
  const uint32_t choice = input.up_to(3);
  const std::string_view text = input.rest_text();
  switch (choice) {
    case 0:
      return check_text(*with_bytes, text, with_spaces(text));
    case 1:
      return check_text(*without_prefix, text, with_spaces(text));
    case 2:
      return check_text(*with_unknown, text, std::nullopt);
    default:
      return check_ids(*with_bytes, text);
  }
}

}  // namespace kinglet::fuzz
