// Generations that must match a grammar, with the embedded model.
#include <gtest/gtest.h>

#include <string>

#include "gguf/file.h"
#include "grammar/grammar_support.h"
#include "session/generation.h"
#include "session/language_model.h"

namespace kinglet {
namespace {

class ConstrainedGeneration : public testing::Test {
 protected:
  void SetUp() override {
    auto file = read_gguf_file(KINGLET_SOURCE_DIR "/demo/models/kinglet-stories-5m-Q4_0.gguf");
    ASSERT_TRUE(file.ok());
    auto loaded = load_language_model(std::move(file.value()));
    ASSERT_TRUE(loaded.ok());
    loaded_ = std::make_unique<LanguageModel>(std::move(loaded.value()));
    auto session = Session::create(loaded_->model, pool_, {.n_ctx = 256});
    ASSERT_TRUE(session.ok());
    session_ = std::move(session.value());
  }

  // The answer, or an error's message.
  std::string answer(const GenerationOptions& options) {
    EXPECT_TRUE(session_->truncate(0).ok());
    const auto prompt = loaded_->tokenizer->encode("Once upon a time");
    auto generation = Generation::start(*session_, *loaded_->tokenizer, prompt, options);
    if (!generation.ok()) return generation.error().message;
    std::string text;
    for (finish_ = FinishReason::none; finish_ == FinishReason::none;) {
      const auto step = generation.value().step();
      if (!step.ok()) return step.error().message;
      text += step.value().text;
      finish_ = step.value().finish;
    }
    return text;
  }

  ThreadPool pool_;
  std::unique_ptr<LanguageModel> loaded_;
  std::unique_ptr<Session> session_;
  FinishReason finish_ = FinishReason::none;
};

GenerationOptions with_grammar(std::string_view gbnf, float temperature, uint64_t seed) {
  GenerationOptions options;
  options.sampler.temperature = temperature;
  options.sampler.seed = seed;
  options.grammar = grammar_of(gbnf);
  return options;
}

TEST_F(ConstrainedGeneration, WritesWhatTheGrammarSays) {
  EXPECT_EQ(answer(with_grammar("root ::= \" 🐝\\n\\x00 and a\"", 0.8f, 1)),
            std::string(" 🐝\n\0 and a", 13));
  EXPECT_EQ(finish_, FinishReason::stop);
}

TEST_F(ConstrainedGeneration, EndsWhereNothingCanFollow) {
  GenerationOptions options = with_grammar("root ::= [0-9]{4}", 5.0f, 1);
  const std::string year = answer(options);
  EXPECT_EQ(year.size(), 4u);
  EXPECT_EQ(year.find_first_not_of("0123456789"), std::string::npos);
  EXPECT_EQ(finish_, FinishReason::stop);
  options.max_tokens = 4;  // as many as the answer needs
  options.sampler.top_k = 1;
  (void)answer(options);
  EXPECT_EQ(finish_, FinishReason::stop);
  EXPECT_EQ(answer(with_grammar("root ::= \"\"", 0.8f, 1)), "");
  EXPECT_EQ(finish_, FinishReason::stop);
}

TEST_F(ConstrainedGeneration, LeavesTheWholeAnswerInTheContext) {
  const auto prompt = loaded_->tokenizer->encode("Once upon a time");
  const std::string text = answer(with_grammar("root ::= \", two bees\"", 0.8f, 1));
  const auto tokens = session_->tokens().subspan(prompt.size());
  const auto decoded = loaded_->tokenizer->decode(tokens);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded.value(), text);
}

TEST_F(ConstrainedGeneration, LeavesMaxTokensInForce) {
  GenerationOptions options = with_grammar("root ::= .{1000}", 0.8f, 1);
  options.max_tokens = 5;
  (void)answer(options);
  EXPECT_EQ(finish_, FinishReason::length);
}

TEST_F(ConstrainedGeneration, MatchesAtAnyTemperature) {
  constexpr std::string_view kList = "root ::= \"- \" [^\\n]{3,40} (\"\\n- \" [^\\n]{3,40}){1,3}";
  GrammarMatcher matcher(grammar_of(kList));
  int n_finished = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    GenerationOptions options = with_grammar(kList, seed % 2 == 0 ? 0.8f : 20.0f, seed);
    options.sampler.top_k = seed % 3 == 0 ? 0 : 40;
    const std::string text = answer(options);
    if (finish_ != FinishReason::stop) continue;
    ++n_finished;
    EXPECT_TRUE(accepts(matcher, text)) << text;
  }
  EXPECT_GT(n_finished, 10);
}

TEST_F(ConstrainedGeneration, ChangesNothingWhereTheGrammarAllowsAll) {
  GenerationOptions options;
  options.max_tokens = 40;
  options.sampler.seed = 5;
  const std::string free = answer(options);
  options.grammar = grammar_of("root ::= .*");
  EXPECT_EQ(answer(options), free);
}

}  // namespace
}  // namespace kinglet
