#include "text/vocabulary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "text/test_tokenizers.h"

namespace kinglet {
namespace {

GgufBuilder base_builder() { return spm_builder(spm_base_tokens()); }

TEST(Vocabulary, AFileWithoutTokenizerSaysSo) {
  expect_error(GgufBuilder().set("general.name", "x"), ErrorCode::missing_metadata,
               "this file has no tokenizer");
}

TEST(Vocabulary, AnUnknownTokenizerIsNamed) {
  expect_error(GgufBuilder().set("tokenizer.ggml.model", "rwkv"), ErrorCode::unsupported_tokenizer,
               "\"rwkv\"");
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

template <class Integer>
void expect_same_types() {
  GgufBuilder builder;
  builder.set("tokenizer.ggml.model", "llama")
      .set_array("tokenizer.ggml.tokens", std::vector<std::string>{"<unk>", "<s>", "<0x41>"})
      .set_array("tokenizer.ggml.scores", std::vector<float>{0, 0, 0})
      .set_array("tokenizer.ggml.token_type", std::vector<Integer>{2, 3, 6})
      .set_array("tokenizer.ggml.suppress_tokens", std::vector<Integer>{1})
      .set_uint32("tokenizer.ggml.unknown_token_id", 0);
  const auto tokenizer = build_tokenizer(builder);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  const Vocabulary& vocabulary = tokenizer.value()->vocabulary();
  EXPECT_EQ(vocabulary.type(1), TokenType::control);
  EXPECT_EQ(vocabulary.byte_token('A'), 2);
  EXPECT_EQ(vocabulary.suppressed(), Ids{1});
}

TEST(Vocabulary, ArraysMayBeOfIntegersOfAnyType) {
  expect_same_types<uint8_t>();
  expect_same_types<int8_t>();
  expect_same_types<uint16_t>();
  expect_same_types<int16_t>();
  expect_same_types<uint32_t>();
  expect_same_types<int32_t>();
  expect_same_types<uint64_t>();
  expect_same_types<int64_t>();
}

TEST(Vocabulary, ATypeOutOfRangeIsNamedAsTheFileHasIt) {
  GgufBuilder builder;
  builder.set("tokenizer.ggml.model", "llama")
      .set_array("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
  GgufBuilder negative = builder;
  negative.set_array("tokenizer.ggml.token_type", std::vector<int64_t>{-1});
  expect_error(negative, ErrorCode::corrupt, "token 0 the type -1");
  GgufBuilder large = builder;
  large.set_array("tokenizer.ggml.token_type", std::vector<uint64_t>{UINT64_MAX});
  expect_error(large, ErrorCode::corrupt, "token 0 the type 18446744073709551615");
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
                 cat(full_key, ": token id 259 is out of range (vocabulary: 259)"));
    expect_error(base_builder().set(full_key, "1"), ErrorCode::wrong_type, full_key);
    expect_error(base_builder().set(full_key, int32_t{-2}), ErrorCode::wrong_type, full_key);
  }
}

// Converters of older files write -1, as whatever type they use for ids.
TEST(Vocabulary, AnIdOfMinusOneMeansThatThereIsNoSuchToken) {
  const auto set_none = [](GgufBuilder& builder, const std::string& key, int i_type) {
    if (i_type == 0) builder.set_uint32(key, 4294967295u);
    if (i_type == 1) builder.set(key, int32_t{-1});
    if (i_type == 2) builder.set(key, int64_t{-1});
    if (i_type == 3) builder.set(key, uint64_t{4294967295u});
    if (i_type == 4) builder.set(key, std::numeric_limits<uint64_t>::max());
  };
  for (int i_type = 0; i_type < 5; ++i_type) {
    GgufBuilder builder = base_builder();
    for (const char* key :
         {"bos", "eos", "eot", "eom", "unknown", "seperator", "padding", "cls", "mask", "fim_pre",
          "fim_suf", "fim_mid", "fim_pad", "fim_rep", "fim_sep", "prefix", "suffix", "middle"}) {
      set_none(builder, cat("tokenizer.ggml.", key, "_token_id"), i_type);
    }
    const auto tokenizer = build_tokenizer(builder);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    EXPECT_EQ(tokenizer.value()->bos(), kNoToken);
    EXPECT_EQ(tokenizer.value()->eos(), kNoToken);
    EXPECT_EQ(tokenizer.value()->encode("a").front(), byte_id(' '));
  }
}

TEST(Vocabulary, AKeyThatMeansNoTokenLeavesNamesTheirMeaning) {
  auto tokens = spm_base_tokens();
  tokens.push_back({"<|fim_pad|>", 0, TokenType::normal});
  const auto tokenizer = build_tokenizer(
      spm_builder(tokens).set_uint32("tokenizer.ggml.fim_pad_token_id", 4294967295u));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_TRUE(tokenizer.value()->is_end_of_generation(kFirstExtra));
}

TEST(Vocabulary, AnEndOfMinusOneEndsNothing) {
  const auto tokenizer = build_tokenizer(
      base_builder().set_array("tokenizer.ggml.eos_token_ids", std::vector<int32_t>{-1, 5}));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_TRUE(tokenizer.value()->is_end_of_generation(5));
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

// As in llama.cpp: those of Llama 2 for its kind of vocabulary, if it is large enough.
TEST(Vocabulary, SpecialIdsThatTheFileDoesNotNameHaveDefaults) {
  const auto tokenizer = build_tokenizer(base_builder());
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(tokenizer.value()->bos(), 1);
  EXPECT_EQ(tokenizer.value()->eos(), 2);
  EXPECT_TRUE(tokenizer.value()->is_end_of_generation(2));
  EXPECT_EQ(tokenizer.value()->encode(""), Ids{1});
  const auto tiny = build_tokenizer(spm_builder({{"<unk>", 0, TokenType::unknown}, {"a", -1}})
                                        .set_uint32("tokenizer.ggml.unknown_token_id", 0));
  ASSERT_TRUE(tiny.ok());
  EXPECT_EQ(tiny.value()->eos(), kNoToken);
  const auto bytes = build_tokenizer(bpe_builder({}));
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  EXPECT_EQ(bytes.value()->bos(), kNoToken);
  EXPECT_EQ(bytes.value()->encode(""), Ids());
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

// A tokenizer with the base tokens and, from 259 on, these names, which all have one type.
std::unique_ptr<Tokenizer> with_names(const std::vector<std::string>& names, TokenType type,
                                      const std::vector<std::string>& id_keys = {}) {
  auto tokens = spm_base_tokens();
  for (const std::string& name : names) tokens.push_back({name, 0, type});
  GgufBuilder builder = spm_builder(tokens);
  for (const std::string& key : id_keys) {
    builder.set_uint32(cat("tokenizer.ggml.", key, "_token_id"), 70);
  }
  auto tokenizer = build_tokenizer(builder);
  EXPECT_TRUE(tokenizer.ok());
  return tokenizer.ok() ? std::move(tokenizer.value()) : nullptr;
}

// The names of the tokens that end generation, with bars between them; </s> is one of the base
// tokens.
std::string ends(const std::vector<std::string>& names, TokenType type = TokenType::control,
                 const std::vector<std::string>& id_keys = {}) {
  const auto tokenizer = with_names(names, type, id_keys);
  std::string out;
  for (TokenId id = 0; id < tokenizer->n_tokens(); ++id) {
    if (tokenizer->is_end_of_generation(id)) out += cat("|", tokenizer->piece(id, true));
  }
  return out;
}

TEST(Vocabulary, GenerationEndsAtTheNamesOfManyFamilies) {
  const std::vector<std::string> names = {"<eos>",
                                          "<|im_end|>",
                                          "<|eot_id|>",
                                          "<|eom_id|>",
                                          "<end_of_turn>",
                                          "<turn|>",
                                          "<|end|>",
                                          "<|endoftext|>",
                                          "<EOT>",
                                          "<|end_of_text|>",
                                          "▁<EOT>",
                                          "_<EOT>",
                                          "[EOT]",
                                          "[EOS]",
                                          "[e~[",
                                          "<｜end▁of▁sentence｜>",
                                          "<|fim_pad|>",
                                          "<end_of_utterance>",
                                          "<fim-pad>",
                                          "<fim_pad>",
                                          "<PAD>",
                                          "[PAD]",
                                          "<|fim_repo|>",
                                          "<|repo_name|>",
                                          "<fim-repo>",
                                          "<REPO>",
                                          "<reponame>",
                                          "<|file_sep|>",
                                          "<|return|>",
                                          "<|call|>",
                                          "<|flush|>",
                                          "<|calls|>",
                                          "<|tool_response>"};
  for (const std::string& name : names) {
    const bool keeps_s = name != "<|tool_response>";
    for (const TokenType type : {TokenType::control, TokenType::normal, TokenType::user_defined}) {
      EXPECT_EQ(ends({name, name + "x", "x" + name}, type), cat(keeps_s ? "|</s>" : "", "|", name));
    }
  }
  EXPECT_EQ(ends({"<|im_start|>", "<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<s>", "[INST]"}),
            "|</s>");
}

TEST(Vocabulary, AnIdForAPartOfCodeCountsAndItsNamesDoNot) {
  EXPECT_EQ(ends({"<|fim_pad|>", "<|file_sep|>"}, TokenType::control, {"fim_pad"}),
            cat("|</s>|", char(70 - 3), "|<|file_sep|>"));
  EXPECT_EQ(ends({"<|file_sep|>"}, TokenType::control, {"fim_sep"}), cat("|</s>|", char(70 - 3)));
  expect_error(base_builder().set_uint32("tokenizer.ggml.fim_rep_token_id", 259),
               ErrorCode::corrupt, "tokenizer.ggml.fim_rep_token_id: token id 259 is out");
}

TEST(Vocabulary, AnAnswerOfSeveralPartsDoesNotEndWithOneOfThem) {
  EXPECT_EQ(ends({"<|end|>", "<|return|>"}), "|</s>|<|end|>|<|return|>");
  EXPECT_EQ(ends({"<|end|>", "<|call|>"}), "|</s>|<|end|>|<|call|>");
  EXPECT_EQ(ends({"<|end|>", "<|return|>", "<|call|>"}), "|</s>|<|return|>|<|call|>");
  EXPECT_EQ(ends({"<|end|>", "<|calls|>", "<|flush|>"}), "|</s>|<|calls|>|<|flush|>");
  const auto gemma = with_names({"<|tool_response>"}, TokenType::control);
  EXPECT_EQ(gemma->piece(2), "</s>") << "text, as in HTML";
}

TEST(Vocabulary, MarksAroundCodeAreParsedOnlyWhereSpecialTokensAre) {
  const std::vector<std::string> names = {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"};
  const auto n_ids = [](const Tokenizer& tokenizer, std::string_view text, bool parse_special) {
    return tokenizer.encode(text, {.add_bos = false, .parse_special = parse_special}).size();
  };
  const std::string_view text = "<｜fim▁begin｜><｜fim▁hole｜><｜fim▁end｜>";
  for (const TokenType type : {TokenType::user_defined, TokenType::control}) {
    const auto tokenizer = with_names(names, type);
    EXPECT_EQ(n_ids(*tokenizer, text, true), 3u);
    EXPECT_GT(n_ids(*tokenizer, text, false), 3u);
    EXPECT_EQ(tokenizer->piece(259), "");
  }
  // If a file gives the ids, its types for these tokens are used as well.
  for (const char* key : {"fim_pre", "prefix"}) {
    const auto tokenizer = with_names(names, TokenType::user_defined, {key});
    EXPECT_EQ(n_ids(*tokenizer, "<｜fim▁begin｜>", false), 1u) << key;
    EXPECT_GT(n_ids(*tokenizer, "<｜fim▁end｜>", false), 1u) << key;
  }
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

  for (const int32_t id : {-2, 100'000}) {
    const auto refused = listing({2, id});
    ASSERT_FALSE(refused.ok()) << id;
    EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
    EXPECT_NE(refused.error().message.find(kKey), std::string::npos);
  }
}

TEST(Vocabulary, ReadsWhatIsNeverToBeGenerated) {
  constexpr const char* kKey = "tokenizer.ggml.suppress_tokens";
  const auto result = build_tokenizer(
      spm_builder(spm_base_tokens()).set_array(kKey, std::vector<int32_t>{70, -1, 3, 100'000}));
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result.value()->vocabulary().suppressed(), (Ids{70, 3}));

  const auto refused =
      build_tokenizer(spm_builder(spm_base_tokens()).set_array(kKey, std::vector<float>{70}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::wrong_type);
}

TEST(Vocabulary, OnlyPhi3TakesTheSpacesBehindItsMarks) {
  auto tokens = spm_base_tokens();
  tokens[0].type = TokenType::control;  // as in Phi-3's files
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
    EXPECT_EQ(encode("<|user|>\u00a0\u3000\xe3").size(), is_phi3 ? 2u : 7u) << "spaces of any kind";
    EXPECT_EQ(encode("</s>\n").size(), is_phi3 ? 1u : 2u);
    EXPECT_EQ(encode("<|endoftext|>\n"), (Ids{260, byte_id('\n')}));
    EXPECT_EQ(encode("<unk> "), (Ids{0, byte_id(' ')}));
    EXPECT_EQ(encode("<s> "), (Ids{1, byte_id(' ')}));
    EXPECT_EQ(result.value()->encode("<end>\n", {.add_bos = false}).size(), is_phi3 ? 1u : 2u);
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
