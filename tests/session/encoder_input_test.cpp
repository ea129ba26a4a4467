#include "session/encoder_input.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "gguf/gguf_builder.h"
#include "model/damage.h"
#include "session/sessions.h"
#include "support.h"

namespace kinglet {
namespace {

LanguageModel load(const Bytes& bytes) {
  auto file = load_gguf(bytes);
  EXPECT_TRUE(file.ok());
  auto loaded = load_language_model(std::move(file.value()));
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  return std::move(loaded.value());
}

LanguageModel load(const char* fixture) { return load(read_fixture(fixture)); }

// The fixture with a text added to its metadata. The text is padded with spaces so that tensors
// stay aligned.
Bytes with_text(const char* fixture, std::string_view key, std::string text) {
  constexpr size_t kAlignment = 32;
  constexpr size_t kCounts = 8;  // after magic and version
  constexpr size_t kMetadata = 24;
  const size_t n = 8 + key.size() + 4 + 8 + text.size();
  text.resize(text.size() + (kAlignment - n % kAlignment) % kAlignment, ' ');
  Bytes entry;
  append_string(entry, key);
  append_number(entry, static_cast<uint32_t>(ValueType::string));
  append_string(entry, text);
  Bytes file = read_fixture(fixture);
  file[kCounts + 8] = static_cast<std::byte>(static_cast<unsigned>(file[kCounts + 8]) + 1);
  file.insert(file.begin() + kMetadata, entry.begin(), entry.end());
  return file;
}

std::string repeated(std::string_view text, size_t n) {
  std::string all;
  for (size_t i = 0; i < n; ++i) all += text;
  return all;
}

Tokens plain_tokens(const LanguageModel& loaded, std::string_view text) {
  return loaded.tokenizer->encode(text, {.add_bos = false});
}

void expect_failure(const Result<Tokens>& found, ErrorCode code, std::string_view words) {
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, code);
  EXPECT_NE(found.error().message.find(words), std::string::npos) << found.error().message;
}

TEST(EmbeddingTokens, StandBetweenTheMarksOfTheVocabulary) {
  const LanguageModel bert = load("encoder/bert.gguf");  // [CLS] 2, [SEP] 3
  const auto found = embedding_tokens(bert, "a dog [SEP]", TooLong::fail);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.value(), joined({{2}, plain_tokens(bert, "a dog [SEP]"), {3}}));
  EXPECT_EQ(embedding_tokens(bert, "", TooLong::fail).value(), (Tokens{2, 3}));
  const LanguageModel gemma = load("encoder/gemma-embedding.gguf");
  EXPECT_EQ(embedding_tokens(gemma, "a", TooLong::fail).value(),
            joined({{1}, plain_tokens(gemma, "a"), {2}}));
  const LanguageModel decoder = load("encoder/qwen3-rerank.gguf");  // adds no end
  EXPECT_EQ(embedding_tokens(decoder, "a", TooLong::fail).value(),
            joined({{1}, plain_tokens(decoder, "a")}));
}

TEST(EmbeddingTokens, AreCutWhereThatIsWishedFor) {
  const LanguageModel bert = load("encoder/bert.gguf");  // a context of 64
  const std::string text = repeated("a ", 200);
  const Tokens whole = plain_tokens(bert, text);
  expect_failure(embedding_tokens(bert, text, TooLong::fail), ErrorCode::prompt_too_long,
                 "the text has 202 tokens, but the model's context is 64");
  const auto cut = embedding_tokens(bert, text, TooLong::cut);
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut.value(), joined({{2}, Tokens(whole.begin(), whole.begin() + 62), {3}}));
}

TEST(EmbeddingTokens, AreCancelled) {
  const std::atomic<uint32_t> word = 7;
  const Cancellation cancellation{&word, 7};
  const LanguageModel bert = load("encoder/bert.gguf");
  expect_failure(embedding_tokens(bert, "a dog", TooLong::cut, cancellation), ErrorCode::cancelled,
                 "cancelled");
  const LanguageModel reranker = load("encoder/bert-rerank.gguf");
  expect_failure(ranking_tokens(reranker, "who", "a dog", TooLong::cut, cancellation),
                 ErrorCode::cancelled, "cancelled");
}

TEST(RankingTokens, StandBetweenTheMarksOfTheVocabulary) {
  const LanguageModel bert = load("encoder/bert-rerank.gguf");
  EXPECT_EQ(ranking_tokens(bert, "who", "a dog", TooLong::fail).value(),
            joined({{2}, plain_tokens(bert, "who"), {3}, plain_tokens(bert, "a dog"), {3}}));
  const LanguageModel modern = load("encoder/modern-bert-rerank.gguf");
  EXPECT_EQ(
      ranking_tokens(modern, "who", "a dog", TooLong::fail).value(),
      joined({{292}, plain_tokens(modern, "who"), {293}, plain_tokens(modern, "a dog"), {293}}));
}

TEST(RankingTokens, CutTheDocumentOnly) {
  const LanguageModel bert = load("encoder/bert-rerank.gguf");
  const Tokens query = plain_tokens(bert, "who");
  const std::string text = repeated("a ", 200);
  const Tokens document = plain_tokens(bert, text);
  expect_failure(ranking_tokens(bert, "who", text, TooLong::fail), ErrorCode::prompt_too_long,
                 "the query with its document");
  const auto n_kept = static_cast<ptrdiff_t>(64 - 3 - query.size());
  EXPECT_EQ(ranking_tokens(bert, "who", text, TooLong::cut).value(),
            joined({{2}, query, {3}, Tokens(document.begin(), document.begin() + n_kept), {3}}));
  expect_failure(ranking_tokens(bert, text, "a dog", TooLong::cut), ErrorCode::prompt_too_long,
                 "the model's context is 64");
}

TEST(RankingTokens, FollowTheFilesTemplate) {
  const auto with_template = [](const char* text) {
    return load(with_text("encoder/qwen3-rerank.gguf", "tokenizer.chat_template.rerank", text));
  };
  const LanguageModel loaded =
      with_template("<s>Query: {query}\nDocument: {document}\nAnswer:</s>");
  const auto found = ranking_tokens(loaded, "{document}</s>", "a dog", TooLong::fail);
  ASSERT_TRUE(found.ok());
  // Control tokens in the template are recognized; in the texts, control tokens and places are
  // plain text.
  const auto text = loaded.tokenizer->decode(found.value(), true);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text.value().substr(0, 48), "<s>Query: {document}</s>\nDocument: a dog\nAnswer:");
  EXPECT_EQ(std::count(found.value().begin(), found.value().end(), 2), 1);

  const LanguageModel turned = with_template("{document} answers {query}");
  const auto other = ranking_tokens(turned, "what", "this", TooLong::fail);
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE(turned.tokenizer->decode(other.value()).value().starts_with("this answers what"));

  const auto cut = ranking_tokens(loaded, "who", repeated("x ", 1000) + "end", TooLong::cut);
  ASSERT_TRUE(cut.ok());
  EXPECT_LE(cut.value().size(), 512u);
  EXPECT_GT(cut.value().size(), 500u);
  EXPECT_EQ(std::count(cut.value().begin(), cut.value().end(), 2), 1);
  expect_failure(ranking_tokens(loaded, repeated("x ", 1000), "a", TooLong::cut),
                 ErrorCode::prompt_too_long, "the query has");
  expect_failure(ranking_tokens(loaded, "who", repeated("x ", 1000), TooLong::fail),
                 ErrorCode::prompt_too_long, "the query with its document");
  const LanguageModel lacking = with_template("{query} only");
  expect_failure(ranking_tokens(lacking, "a", "b", TooLong::fail), ErrorCode::unsupported_feature,
                 "lacks {query} or {document}");
}

}  // namespace
}  // namespace kinglet
