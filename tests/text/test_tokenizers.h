// Tokenizers for tests: from files, and small ones that are made in memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "gguf/file.h"
#include "gguf/gguf_builder.h"
#include "support.h"
#include "text/tokenizer.h"

namespace kinglet {

using Ids = std::vector<TokenId>;

inline std::string embedded_model_path() {
  return KINGLET_SOURCE_DIR "/demo/models/kinglet-stories-5m-Q4_0.gguf";
}

// Returns null, and reports a failure, if the file's tokenizer cannot be read.
inline std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path) {
  auto file = read_gguf_file(path);
  if (!file.ok()) {
    ADD_FAILURE() << file.error().message;
    return nullptr;
  }
  auto tokenizer = Tokenizer::from_gguf(file.value().header());
  if (!tokenizer.ok()) {
    ADD_FAILURE() << tokenizer.error().message;
    return nullptr;
  }
  return std::move(tokenizer.value());
}

// Returns the tokenizer of a file made in memory, which is freed when this returns.
inline Result<std::unique_ptr<Tokenizer>> build_tokenizer(const GgufBuilder& builder) {
  const Bytes file = builder.build();
  KINGLET_ASSIGN(const GgufHeader header, parse_gguf_header(file));
  return Tokenizer::from_gguf(header);
}

// Returns the tokenizer of a file made in memory; null, and a reported failure, if there is none.
inline std::unique_ptr<Tokenizer> built(const GgufBuilder& builder) {
  auto tokenizer = build_tokenizer(builder);
  if (tokenizer.ok()) return std::move(tokenizer.value());
  ADD_FAILURE() << tokenizer.error().message;
  return nullptr;
}

// Expects that there is no tokenizer, for this reason.
inline void expect_error(const GgufBuilder& builder, ErrorCode code, std::string_view part) {
  const auto tokenizer = build_tokenizer(builder);
  ASSERT_FALSE(tokenizer.ok());
  EXPECT_EQ(tokenizer.error().code, code) << tokenizer.error().message;
  EXPECT_NE(tokenizer.error().message.find(part), std::string::npos) << tokenizer.error().message;
}

constexpr EncodeOptions kPlain = {.add_bos = false};

// The pieces of a text, with bars between them: "▁Once|▁upon".
inline std::string pieces(const Tokenizer& tokenizer, std::string_view text,
                          EncodeOptions options = kPlain) {
  std::string out;
  for (const TokenId id : tokenizer.encode(text, options)) {
    out += cat(out.empty() ? "" : "|", tokenizer.piece(id, true));
  }
  return out;
}

struct TextIds {
  std::string text;
  Ids ids;
};

inline void expect_ids(const Tokenizer& tokenizer, const std::vector<TextIds>& texts) {
  for (const auto& [text, ids] : texts) EXPECT_EQ(tokenizer.encode(text, kPlain), ids) << text;
}

struct TestToken {
  std::string text;
  float score = 0;
  TokenType type = TokenType::normal;
};

// "<unk>" 0, "<s>" 1, "</s>" 2, and the 256 byte tokens from 3 on.
inline std::vector<TestToken> spm_base_tokens() {
  std::vector<TestToken> tokens = {{"<unk>", 0, TokenType::unknown},
                                   {"<s>", 0, TokenType::control},
                                   {"</s>", 0, TokenType::control}};
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::array<char, 8> text;
    std::snprintf(text.data(), text.size(), "<0x%02X>", byte);
    tokens.push_back({text.data(), 0, TokenType::byte});
  }
  return tokens;
}

inline TokenId byte_id(unsigned char byte) { return 3 + byte; }

// Metadata of a SentencePiece-style vocabulary with these tokens, without special ids.
inline GgufBuilder spm_builder(const std::vector<TestToken>& tokens,
                               std::string_view model = "llama") {
  std::vector<std::string> texts;
  std::vector<float> scores;
  std::vector<int32_t> types;
  for (const TestToken& token : tokens) {
    texts.push_back(token.text);
    scores.push_back(token.score);
    types.push_back(static_cast<int32_t>(token.type));
  }
  GgufBuilder builder;
  builder.set("tokenizer.ggml.model", model)
      .set_array("tokenizer.ggml.tokens", texts)
      .set_array("tokenizer.ggml.scores", scores)
      .set_array("tokenizer.ggml.token_type", types);
  return builder;
}

// A tokenizer with the base tokens and then `extra` (from id 259 on), with the usual special ids.
inline std::unique_ptr<Tokenizer> spm_tokenizer(const std::vector<TestToken>& extra,
                                                bool add_space_prefix = true) {
  std::vector<TestToken> tokens = spm_base_tokens();
  tokens.insert(tokens.end(), extra.begin(), extra.end());
  GgufBuilder builder = spm_builder(tokens);
  builder.set_uint32("tokenizer.ggml.bos_token_id", 1)
      .set_uint32("tokenizer.ggml.eos_token_id", 2)
      .set_uint32("tokenizer.ggml.unknown_token_id", 0)
      .set_bool("tokenizer.ggml.add_space_prefix", add_space_prefix);
  return built(builder);
}

constexpr TokenId kFirstExtra = 259;

// The spelling of bytes in byte-level BPE: printable characters of Latin-1 stand for themselves;
// the others are, in order, the characters from U+0100 on (GPT-2's bytes_to_unicode).
inline std::string bpe_spelling(std::string_view bytes) {
  std::array<char32_t, 256> characters;
  char32_t next = 0x100;
  for (char32_t b = 0; b < 256; ++b) {
    const bool printable = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    characters[b] = printable ? b : next++;
  }
  std::string spelled;
  for (const char c : bytes) append_utf8(spelled, characters[static_cast<unsigned char>(c)]);
  return spelled;
}

// Metadata of a byte-level BPE vocabulary: ids 0 to 255 are the bytes, then follow the results of
// the merges ("left right", as plain bytes), then `extra`.
inline GgufBuilder bpe_builder(const std::vector<std::pair<std::string, std::string>>& merges,
                               const std::vector<TestToken>& extra = {},
                               std::string_view pre = "gpt-2") {
  std::vector<std::string> texts;
  std::vector<std::string> lines;
  for (int byte = 0; byte < 256; ++byte) {
    texts.push_back(bpe_spelling(std::string(1, static_cast<char>(byte))));
  }
  for (const auto& [left, right] : merges) {
    texts.push_back(bpe_spelling(left + right));
    lines.push_back(cat(bpe_spelling(left), " ", bpe_spelling(right)));
  }
  std::vector<int32_t> types(texts.size(), static_cast<int32_t>(TokenType::normal));
  for (const TestToken& token : extra) {
    texts.push_back(token.text);
    types.push_back(static_cast<int32_t>(token.type));
  }
  GgufBuilder builder;
  builder.set("tokenizer.ggml.model", "gpt2")
      .set("tokenizer.ggml.pre", pre)
      .set_array("tokenizer.ggml.tokens", texts)
      .set_array("tokenizer.ggml.token_type", types)
      .set_array("tokenizer.ggml.merges", lines);
  return builder;
}

constexpr TokenId kFirstMerge = 256;

// Returns `n` characters drawn from `alphabet`.
inline std::string random_text(std::mt19937& random, size_t n,
                               std::span<const std::string_view> alphabet) {
  std::string text;
  for (size_t i = 0; i < n; ++i) text += alphabet[random() % alphabet.size()];
  return text;
}

inline std::string random_bytes(std::mt19937& random, size_t n) {
  std::string bytes;
  for (size_t i = 0; i < n; ++i) bytes += static_cast<char>(random());
  return bytes;
}

inline std::string decoded(const Tokenizer& tokenizer, std::span<const TokenId> ids,
                           bool special = false) {
  auto text = tokenizer.decode(ids, special);
  EXPECT_TRUE(text.ok());
  return text.ok() ? text.value() : "";
}

// Texts with every length of UTF-8, spaces in every place, and NUL.
inline std::vector<std::string> awkward_texts() {
  using namespace std::string_literals;
  return {"",
          " ",
          "  ",
          "     a     b     ",
          "\t\n\r\n\v\f",
          "Once upon a time, there was a little girl.",
          "Größe, façade, naïve, Łódź",
          "нещо на Български",
          "我想在apple工作1314151天～",
          "កាន់តែពិសេសអាចខលចេញ",
          "مرحبا بالعالم שלום עולם",
          "😶‍🌫️🚀👩‍👩‍👧‍👦🇩🇪",
          "a\0b\0\0c"s,
          "▁▁ U+2581 ▁ itself ▁",
          "\u00a0\u2003\u3000\ufeff",
          "\U0010ffff\U0001f600\ue000",
          "<s> </s> <unk> <0x41> are text",
          "' era 'LL you're"};
}

// The decoded form of a text in a SentencePiece-style vocabulary, which spells a space and U+2581
// in the same way.
inline std::string with_spaces(std::string text) {
  constexpr std::string_view kMark = "\u2581";
  for (size_t at = 0; (at = text.find(kMark, at)) != std::string::npos;) {
    text.replace(at, kMark.size(), " ");
  }
  return text;
}

// Byte strings that are not UTF-8.
inline std::vector<std::string> ill_formed_texts() {
  using namespace std::string_literals;
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) all_bytes += static_cast<char>(byte);
  std::string reversed(all_bytes.rbegin(), all_bytes.rend());
  return {"\x80",
          "\xff\xfe",
          "abc\xe2\x82",
          "\xe2(\xa1",
          "\xc0\xaf\xe0\x80\xaf",
          "\xed\xa0\x80\xed\xbf\xbf",
          "\xf4\x90\x80\x80",
          " \xf0\x9f\x98 ",
          all_bytes,
          reversed};
}

}  // namespace kinglet
