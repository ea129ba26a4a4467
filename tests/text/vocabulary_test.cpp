#include "text/vocabulary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "text/test_tokenizers.h"

namespace kinglet {
namespace {

void expect_error(const GgufBuilder& builder, ErrorCode code, std::string_view part) {
  const auto tokenizer = build_tokenizer(builder);
  ASSERT_FALSE(tokenizer.ok());
  EXPECT_EQ(tokenizer.error().code, code);
  EXPECT_NE(tokenizer.error().message.find(part), std::string::npos) << tokenizer.error().message;
}

GgufBuilder base_builder() { return spm_builder(spm_base_tokens()); }

TEST(Vocabulary, AFileWithoutTokenizerSaysSo) {
  expect_error(GgufBuilder().set("general.name", "x"), ErrorCode::missing_metadata,
               "this file has no tokenizer");
}

TEST(Vocabulary, AnUnknownTokenizerIsNamed) {
  expect_error(GgufBuilder().set("tokenizer.ggml.model", "t5"), ErrorCode::unsupported_tokenizer,
               "\"t5\"");
}

TEST(Vocabulary, TheTokenizersNameMustBeAString) {
  expect_error(GgufBuilder().set_uint32("tokenizer.ggml.model", 3), ErrorCode::wrong_type,
               "tokenizer.ggml.model");
}

TEST(Vocabulary, TokensAreRequired) {
  expect_error(GgufBuilder().set("tokenizer.ggml.model", "llama"), ErrorCode::missing_metadata,
               "tokenizer.ggml.tokens");
}

TEST(Vocabulary, TokensMustBeStrings) {
  expect_error(GgufBuilder()
                   .set("tokenizer.ggml.model", "llama")
                   .set_array("tokenizer.ggml.tokens", std::vector<float>{1}),
               ErrorCode::wrong_type, "tokenizer.ggml.tokens");
}

TEST(Vocabulary, AnEmptyListOfTokensIsRefused) {
  expect_error(spm_builder({}), ErrorCode::corrupt, "tokenizer.ggml.tokens is empty");
}

TEST(Vocabulary, ScoresAreRequiredForMerging) {
  expect_error(GgufBuilder()
                   .set("tokenizer.ggml.model", "llama")
                   .set_array("tokenizer.ggml.tokens", std::vector<std::string>{"<unk>"})
                   .set_uint32("tokenizer.ggml.unknown_token_id", 0),
               ErrorCode::missing_metadata, "tokenizer.ggml.scores");
}

TEST(Vocabulary, EveryTokenNeedsAScoreAndAType) {
  const std::vector<std::string> tokens = {"a", "b"};
  GgufBuilder builder;
  builder.set("tokenizer.ggml.model", "llama").set_array("tokenizer.ggml.tokens", tokens);
  GgufBuilder few_scores = builder;
  few_scores.set_array("tokenizer.ggml.scores", std::vector<float>{1});
  expect_error(few_scores, ErrorCode::corrupt, "tokenizer.ggml.scores has 1 elements, expected 2");
  GgufBuilder many_types = builder;
  many_types.set_array("tokenizer.ggml.token_type", std::vector<int32_t>{1, 1, 1});
  expect_error(many_types, ErrorCode::corrupt,
               "tokenizer.ggml.token_type has 3 elements, expected 2");
}

TEST(Vocabulary, ScoresAndTypesMustHaveTheirElementTypes) {
  const std::vector<std::string> tokens = {"a"};
  GgufBuilder builder;
  builder.set("tokenizer.ggml.model", "llama").set_array("tokenizer.ggml.tokens", tokens);
  GgufBuilder scores = builder;
  scores.set_array("tokenizer.ggml.scores", std::vector<double>{1});
  expect_error(scores, ErrorCode::wrong_type, "tokenizer.ggml.scores");
  GgufBuilder types = builder;
  types.set_array("tokenizer.ggml.token_type", std::vector<float>{1});
  expect_error(types, ErrorCode::wrong_type, "tokenizer.ggml.token_type");
}

TEST(Vocabulary, AScoreOfNaNIsRefused) {
  auto tokens = spm_base_tokens();
  tokens.push_back({"a", std::numeric_limits<float>::quiet_NaN()});
  expect_error(spm_builder(tokens), ErrorCode::not_finite, "token 259");
}

TEST(Vocabulary, ATypeThatDoesNotExistIsRefused) {
  for (const int type : {7, 255}) {
    auto tokens = spm_base_tokens();
    tokens.push_back({"a", 0, TokenType(type)});
    expect_error(spm_builder(tokens), ErrorCode::corrupt, cat("token 259 the type ", type));
  }
}

TEST(Vocabulary, AByteTokenMustSpellAByte) {
  for (const char* text : {"a", "<0x4>", "<0x4G>", "<0x041>", "(0x41>", "<0x41)"}) {
    auto tokens = spm_base_tokens();
    tokens.push_back({text, 0, TokenType::byte});
    expect_error(spm_builder(tokens), ErrorCode::corrupt, "token 259");
  }
}

TEST(Vocabulary, SpecialIdsMustLieInTheVocabulary) {
  for (const char* key : {"bos", "eos", "eot", "eom", "unknown"}) {
    const std::string full_key = cat("tokenizer.ggml.", key, "_token_id");
    EXPECT_TRUE(build_tokenizer(base_builder().set_uint32(full_key, 258)).ok());
    expect_error(base_builder().set_uint32(full_key, 259), ErrorCode::corrupt,
                 cat(full_key, " is 259, expected the id of one of the 259 tokens"));
    expect_error(base_builder().set(full_key, "1"), ErrorCode::wrong_type, full_key);
    expect_error(base_builder().set(full_key, int32_t{-1}), ErrorCode::wrong_type, full_key);
  }
}

TEST(Vocabulary, FlagsMustBeBooleans) {
  for (const char* key : {"add_bos_token", "add_eos_token", "add_space_prefix"}) {
    const std::string full_key = cat("tokenizer.ggml.", key);
    expect_error(base_builder().set_uint32(full_key, 1), ErrorCode::wrong_type, full_key);
  }
}

TEST(Vocabulary, WithoutByteTokensAnUnknownTokenIsRequired) {
  auto tokens = spm_base_tokens();
  tokens.pop_back();
  expect_error(spm_builder(tokens), ErrorCode::missing_metadata, "tokenizer.ggml.unknown_token_id");
  EXPECT_TRUE(
      build_tokenizer(spm_builder(tokens).set_uint32("tokenizer.ggml.unknown_token_id", 0)).ok());
}

TEST(Vocabulary, SpecialIdsThatTheFileDoesNotNameAreNone) {
  const auto tokenizer = build_tokenizer(base_builder());
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(tokenizer.value()->bos(), kNoToken);
  EXPECT_EQ(tokenizer.value()->eos(), kNoToken);
  EXPECT_EQ(tokenizer.value()->encode(""), Ids());
}

TEST(Vocabulary, GenerationEndsAtDeclaredAndAtWellKnownTokens) {
  auto tokens = spm_base_tokens();
  tokens.push_back({"<|im_end|>", 0, TokenType::control});
  tokens.push_back({"<|my_eot|>", 0, TokenType::control});
  tokens.push_back({"<|my_eom|>", 0, TokenType::control});
  tokens.push_back({"<end_of_turn>", 0, TokenType::normal});
  tokens.push_back({"<|im_start|>", 0, TokenType::control});
  const auto result = build_tokenizer(spm_builder(tokens)
                                          .set_uint32("tokenizer.ggml.eos_token_id", 2)
                                          .set_uint32("tokenizer.ggml.eot_token_id", 260)
                                          .set_uint32("tokenizer.ggml.eom_token_id", 261));
  ASSERT_TRUE(result.ok()) << result.error().message;
  const Tokenizer& tokenizer = *result.value();
  for (TokenId id = -1; id <= tokenizer.n_tokens(); ++id) {
    EXPECT_EQ(tokenizer.is_end_of_generation(id), id == 2 || (id >= 259 && id <= 262)) << id;
  }
  EXPECT_EQ(tokenizer.piece(262), "") << "a mark of structure, whatever the file calls it";
}

TEST(Vocabulary, GenerationEndsAtEveryTokenOfAFilesList) {
  constexpr const char* kKey = "tokenizer.ggml.eos_token_ids";
  const auto listing = [](const std::vector<int32_t>& ids) {
    return build_tokenizer(spm_builder(spm_base_tokens())
                               .set_uint32("tokenizer.ggml.eos_token_id", 2)
                               .set_array(kKey, ids));
  };
  const auto result = listing({2, 70, 80});
  ASSERT_TRUE(result.ok()) << result.error().message;
  for (const TokenId id : {2, 70, 80}) EXPECT_TRUE(result.value()->is_end_of_generation(id)) << id;
  EXPECT_FALSE(result.value()->is_end_of_generation(71));

  for (const int32_t id : {-1, 100'000}) {
    const auto refused = listing({2, id});
    ASSERT_FALSE(refused.ok()) << id;
    EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
    EXPECT_NE(refused.error().message.find(kKey), std::string::npos);
  }
}

TEST(Vocabulary, OnlyPhi3TakesTheSpacesBehindItsMarks) {
  auto tokens = spm_base_tokens();
  tokens.push_back({"<|user|>", 0, TokenType::control});
  tokens.push_back({"<|endoftext|>", 0, TokenType::control});
  tokens.push_back({"<end>", 0, TokenType::user_defined});
  for (const char* architecture : {"llama", "phi3"}) {
    const auto result = build_tokenizer(spm_builder(tokens)
                                            .set("general.architecture", architecture)
                                            .set_bool("tokenizer.ggml.add_space_prefix", false));
    ASSERT_TRUE(result.ok()) << result.error().message;
    const auto encode = [&](std::string_view text) {
      return result.value()->encode(text, {.add_bos = false, .parse_special = true});
    };
    const bool is_phi3 = architecture == std::string_view("phi3");
    EXPECT_EQ(encode("<|user|> \n a"),
              is_phi3 ? (Ids{259, byte_id('a')})
                      : (Ids{259, byte_id(' '), byte_id('\n'), byte_id(' '), byte_id('a')}));
    EXPECT_EQ(encode("<|user|>\n\n").size(), is_phi3 ? 1u : 3u);
    EXPECT_EQ(encode("<end>\n").size(), is_phi3 ? 1u : 2u);
    EXPECT_EQ(encode("<|endoftext|>\n"), (Ids{260, byte_id('\n')}));
  }
}

TEST(Vocabulary, FindsEveryNormalTokenOfTheEmbeddedModelAndNoOther) {
  const auto tokenizer = load_tokenizer(embedded_model_path());
  ASSERT_NE(tokenizer, nullptr);
  const Vocabulary& vocabulary = tokenizer->vocabulary();
  ASSERT_EQ(vocabulary.size(), 2048);
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.type(id) == TokenType::normal) {
      EXPECT_EQ(vocabulary.find(vocabulary.bytes(id)), id);
    }
    EXPECT_EQ(vocabulary.find(cat(vocabulary.bytes(id), "\x01")), kNoToken);
  }
  EXPECT_EQ(vocabulary.find("<s>"), kNoToken);
  EXPECT_EQ(vocabulary.find(""), kNoToken);
}

}  // namespace
}  // namespace kinglet
