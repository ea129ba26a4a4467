#include "grammar/expression.h"

#include <gtest/gtest.h>

#include "grammar/gbnf_parser.h"
#include "grammar/grammar_support.h"

namespace kinglet {
namespace {

SharedGrammar compiled(const Expression& expression) {
  return expect_shared(Grammar::compile(
      {&expression, 1}, [](uint32_t, std::string_view fault) { return std::string(fault); }));
}

// Jumps over alternatives rely on it.
TEST(Expression, KnowsTheLengthOfItsProgram) {
  for (const std::string_view text :
       {R"("")", R"("abc")", R"([a-zé€])", R"("a" | "bc" | "d" ("e" | "f"))", R"("a"*)", R"("ab"+)",
        R"(("a" | "b")?)", R"("ab"{3,7} "c")", R"(("a"{2} "b"?){2,})", R"((("ab"{2,3})* "x"){4})",
        R"(<[7]> "a"{0,1000})", R"(""* "a" ("" | "")+)"}) {
    const Expression expression = gbnf_expression(text);
    const SharedGrammar grammar = compiled(expression);
    ASSERT_NE(grammar, nullptr) << text;
    // The call of the rule and the end of the text come before it, its end after it.
    EXPECT_EQ(grammar->steps().size(), 2 + expression.n_steps() + 1) << text;
  }
}

TEST(Expression, IsBoundedWhateverIsRepeated) {
  Expression expression = literal("ab");
  for (int i = 0; i < 100; ++i) expression = repeat(expression, 0, UINT64_MAX - 1);
  EXPECT_GT(expression.n_steps(), kMaxGrammarSteps);
  const auto refused =
      Grammar::compile({&expression, 1}, [](uint32_t rule, std::string_view fault) {
        return std::to_string(rule) + " " + std::string(fault);
      });
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "0 makes the grammar too large: more than 1048576 steps");
}

TEST(Expression, LeavesOutWhatIsAbsentOrThereAlready) {
  const Expression a = literal("a");
  const Expression b = literal("b");
  EXPECT_EQ(sequence({a, {}, empty_text(), b}), sequence({a, b}));
  EXPECT_EQ(sequence({{}, a}), a);
  EXPECT_EQ(sequence({Expression(), Expression()}), empty_text());
  EXPECT_EQ(alternatives({a, {}, literal("a")}), a);
  EXPECT_NE(alternatives({a, b}), alternatives({b, a}));
  EXPECT_TRUE(alternatives({Expression(), Expression()}).empty());
  EXPECT_TRUE(one_of({{0xd800, 0xdfff}}).empty());
  EXPECT_EQ(repeat({}, 0, 3), empty_text());
  EXPECT_TRUE(repeat({}, 1, 3).empty());
}

}  // namespace
}  // namespace kinglet
