// Thoughts that are ended after a number of tokens.
#include "session/thought_limit.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "text/answer/answer_format.h"

namespace kinglet {
namespace {

const std::vector<TokenId> kEnd = {90, 91};  // "</thi", "nk>"

ThoughtLimit limit(uint32_t n_most, std::string_view prompt) {
  const AnswerFormat format = find_answer_format("<think></think>");
  return {AnswerReader(format, {}, prompt), n_most, kEnd};
}

TEST(ThoughtLimit, EndsAThoughtThatThePromptBegan) {
  ThoughtLimit thought = limit(2, "<think>");
  EXPECT_EQ(thought.next(), kNoToken);
  thought.accept(1, "a");
  EXPECT_EQ(thought.next(), kNoToken);
  thought.accept(2, "b");
  EXPECT_EQ(thought.next(), 90);
  thought.accept(90, "</thi");
  EXPECT_EQ(thought.next(), 91);
  thought.accept(91, "nk>");
  EXPECT_EQ(thought.next(), kNoToken);
  for (int i = 0; i < 5; ++i) thought.accept(1, "a");
  EXPECT_EQ(thought.next(), kNoToken);
}

TEST(ThoughtLimit, EndsAtOnceWhereNothingMayBeThought) {
  EXPECT_EQ(limit(0, "<think>\n").next(), 90);
  EXPECT_EQ(limit(0, "Hi").next(), kNoToken);
}

TEST(ThoughtLimit, CountsFromTheModelsOwnMark) {
  ThoughtLimit thought = limit(1, "Hi");
  thought.accept(5, "<think>");
  EXPECT_EQ(thought.next(), kNoToken);
  thought.accept(1, "a");
  EXPECT_EQ(thought.next(), 90);
}

TEST(ThoughtLimit, LetsAnEarlierEndBe) {
  ThoughtLimit thought = limit(2, "<think>");
  thought.accept(1, "a");
  thought.accept(7, "</think>");
  thought.accept(1, "a");
  EXPECT_EQ(thought.next(), kNoToken);
}

TEST(ThoughtLimit, WaitsForTheEndOfACharacter) {
  ThoughtLimit thought = limit(1, "<think>");
  thought.accept(3, "");  // the first bytes of a character
  EXPECT_EQ(thought.next(), kNoToken);
  thought.accept(4, "\u00e9");
  EXPECT_EQ(thought.next(), 90);
}

}  // namespace
}  // namespace kinglet
