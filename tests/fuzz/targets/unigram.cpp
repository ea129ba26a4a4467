// Unigram vocabularies, with replacements of characters that may be damaged.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/input.h"
#include "fuzz/targets/text.h"
#include "gguf/gguf_builder.h"
#include "text/charsmap_builder.h"

namespace kinglet::fuzz {
namespace {

CharsmapBuilder charsmap() {
  return CharsmapBuilder({{"ﬁ", "fi"},
                          {"\u3000", " "},
                          {"\n", " "},
                          {"\u200b", ""},
                          {"e\u0301", "é"},
                          {"A", "a"},
                          {"①", "1"},
                          {"㏂", "a.m."}});
}

std::unique_ptr<Tokenizer> make_unigram(bool spaces, const CharsmapBuilder* map) {
  std::vector<std::string> texts = {"<pad>", "</s>", "<unk>", "<|user|>"};
  std::vector<int32_t> types = {3, 3, 2, 4};
  for (const char* text : {"▁",   "▁the", "▁t", "t",  "h",    "e", "he", "a", "an", "and", "▁and",
                           "aaa", "fi",   "é",  "中", "中文", "ы", "🚀",  "1", ".",  "▁▁"}) {
    texts.emplace_back(text);
    types.push_back(1);
  }
  std::vector<float> scores;
  for (size_t i = 0; i < texts.size(); ++i) scores.push_back(-static_cast<float>(i * 7 % 23));
  GgufBuilder builder;
  builder.set("tokenizer.ggml.model", "t5")
      .set_array("tokenizer.ggml.tokens", texts)
      .set_array("tokenizer.ggml.scores", scores)
      .set_array("tokenizer.ggml.token_type", types)
      .set_bool("tokenizer.ggml.add_space_prefix", spaces)
      .set_bool("tokenizer.ggml.remove_extra_whitespaces", spaces);
  if (map != nullptr) builder.set_array("tokenizer.ggml.precompiled_charsmap", map->build());
  const auto file = builder.build();
  const auto header = parse_gguf_header(file);
  return std::move(Tokenizer::from_gguf(header.value()).value());
}

// A replacement has at most four times as many bytes as the text it replaces, and each byte may be
// a token.
void check_plain(const Tokenizer& tokenizer, std::string_view text) {
  const auto ids = tokenizer.encode(text, {.add_bos = false});
  check(ids.size() <= 4 * text.size() + 1, "more tokens than bytes");
  check(tokenizer.decode(ids).ok(), "its own ids cannot be decoded");
}

// Runs with nodes that the input damages.
void check_damaged(Input& input) {
  CharsmapBuilder map = charsmap();
  for (auto& [index, node] : map.nodes()) {
    const uint32_t what = input.up_to(7);
    if (what == 0) node = input.number<uint32_t>();
    if (what == 1) node ^= 1u << input.up_to(31);
  }
  const auto tokenizer = make_unigram(true, &map);
  (void)tokenizer->encode(input.rest_text());
}

}  // namespace

void unigram(Bytes bytes) {
  static const CharsmapBuilder map = charsmap();
  static const std::array tokenizers = {make_unigram(true, &map), make_unigram(false, &map),
                                        make_unigram(true, nullptr), make_unigram(false, nullptr)};
  Input input(bytes);
  const uint32_t choice = input.up_to(tokenizers.size() + 1);
  if (choice == tokenizers.size() + 1) return check_damaged(input);
  const std::string_view text = input.rest_text();
  if (choice == tokenizers.size()) return check_ids(*tokenizers[0], text);
  check_plain(*tokenizers[choice], text);
}

}  // namespace kinglet::fuzz
