// Prompts that no person would write, with the embedded model.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/utf8.h"
#include "session/generation.h"
#include "session/language_model.h"
#include "session/sessions.h"
#include "support.h"

namespace kinglet {
namespace {

constexpr size_t kCharacters = 100'000;

std::string repeat(std::string_view text) {
  std::string out;
  while (out.size() < kCharacters) out += text;
  return out;
}

// Characters of all 17 planes, including unassigned and private ones.
std::string every_plane() {
  std::string out;
  for (size_t i = 0; i < kCharacters; ++i) {
    const auto plane = static_cast<char32_t>(i % 17);
    const auto code_point = plane << 16 | static_cast<char32_t>(i * 7919 % 0x10000);
    append_utf8(out, code_point >= 0xd800 && code_point < 0xe000 ? U'?' : code_point);
  }
  return out;
}

struct Text {
  const char* name;
  std::string (*make)();
};

const Text kTexts[] = {
    {"Words", [] { return repeat("Once upon a time, there was a little girl. "); }},
    {"Spaces", [] { return repeat(" "); }},
    {"Newlines", [] { return repeat("\n"); }},
    {"OneLetter", [] { return repeat("a"); }},
    {"NulBytes", [] { return std::string(kCharacters, '\0'); }},
    {"EveryPlane", every_plane},
    {"NoUtf8", [] { return repeat("\xff\xc0\xe2\x82"); }},
};

class LongText : public testing::TestWithParam<Text> {};

TEST_P(LongText, ComesBackAndIsRefusedAsTooLong) {
  const LanguageModel loaded = load_stories();
  const std::string text = GetParam().make();
  const auto ids = loaded.tokenizer->encode(text);
  const auto decoded = loaded.tokenizer->decode(ids);
  ASSERT_TRUE(decoded.ok());
  EXPECT_TRUE(decoded.value() == text) << "decode(encode(text)) is the text";

  ThreadPool pool;
  auto session = Session::create(loaded.model, pool, {});
  ASSERT_TRUE(session.ok());
  const auto refused = Generation::start(*session.value(), *loaded.tokenizer, ids, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::prompt_too_long);
}

TEST_P(LongText, IsContinuedWhereItFits) {
  const LanguageModel loaded = load_stories();
  ThreadPool pool;
  auto session = Session::create(loaded.model, pool, {.n_ctx = 64});
  ASSERT_TRUE(session.ok());
  auto ids = loaded.tokenizer->encode(GetParam().make());
  ids.resize(60);
  GenerationOptions options;
  options.max_tokens = 4;
  auto generation = Generation::start(*session.value(), *loaded.tokenizer, ids, options);
  ASSERT_TRUE(generation.ok());
  FinishReason finish = FinishReason::none;
  while (finish == FinishReason::none) {
    const auto step = generation.value().step();
    ASSERT_TRUE(step.ok()) << step.error().message;
    finish = step.value().finish;
  }
}

INSTANTIATE_TEST_SUITE_P(Texts, LongText, testing::ValuesIn(kTexts),
                         [](const auto& text) { return text.param.name; });

}  // namespace
}  // namespace kinglet
