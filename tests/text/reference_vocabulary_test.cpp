// Whole vocabularies, and another implementation's ids for texts. They are not part of this
// project: the tests are skipped if ../shared/tokenizer, next to the source folder, does not exist.
// The tests of the vocabularies that scripts/compare-tokenizers.mjs writes are skipped if it has
// not run.
#include <gtest/gtest.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

#include "text/test_tokenizers.h"

namespace kinglet {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  for (size_t at = 0; at != std::string_view::npos;) {
    const size_t end = text.find(separator, at);
    parts.emplace_back(text.substr(at, end - at));
    at = end == std::string_view::npos ? end : end + separator.size();
  }
  return parts;
}

Ids parse_ids(const std::string& line) {
  Ids ids;
  for (const std::string& word : split(line, " ")) {
    TokenId id = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), id);
    if (parsed.ec == std::errc()) ids.push_back(id);
  }
  return ids;
}

class ReferenceVocabulary : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string name = cat("ggml-vocab-", GetParam(), ".gguf");
    path_ = cat(KINGLET_SOURCE_DIR "/../shared/tokenizer/", name);
    const std::string made = cat(KINGLET_SOURCE_DIR "/build/vocabularies/", name);
    for (const std::string& vocabulary : {path_, made}) {
      if (!std::ifstream(vocabulary)) continue;
      tokenizer_ = load_tokenizer(vocabulary);
      ASSERT_NE(tokenizer_, nullptr);
      return;
    }
    GTEST_SKIP() << "neither " << path_ << " nor " << made;
  }

  std::string path_;  // of the texts and ids, without their endings
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_P(ReferenceVocabulary, GivesTheReferenceIds) {
  const auto texts = split(read_text(path_ + ".inp"), "\n__ggml_vocab_test__\n");
  const auto lines = split(read_text(path_ + ".out"), "\n");
  ASSERT_GT(texts.size(), 40u);
  ASSERT_GE(lines.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(tokenizer_->encode(texts[i], {.add_bos = false}), parse_ids(lines[i])) << texts[i];
  }
}

TEST_P(ReferenceVocabulary, GivesBackEveryText) {
  const std::string name = GetParam();
  const bool spells_spaces = name == "llama-spm" || name == "phi-3";
  for (const std::string& text : awkward_texts()) {
    EXPECT_EQ(decoded(*tokenizer_, tokenizer_->encode(text)),
              spells_spaces ? with_spaces(text) : text);
  }
  // StarCoder has no token for bytes that UTF-8 never contains.
  const Vocabulary& vocabulary = tokenizer_->vocabulary();
  if (!vocabulary.has_all_bytes() && vocabulary.find("\xff") == kNoToken) return;
  for (const std::string& text : ill_formed_texts()) {
    EXPECT_EQ(decoded(*tokenizer_, tokenizer_->encode(text)), text);
  }
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, ReferenceVocabulary,
                         testing::Values("llama-spm", "phi-3", "gpt-2", "starcoder", "llama-bpe",
                                         "qwen2"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace kinglet
