// Thoughts that are ended after a number of tokens.
#include "chat/thought_limit.h"

#include <gtest/gtest.h>

#include <vector>

namespace kinglet {
namespace {

const std::vector<TokenId> kEnd = {90, 91};  // "</thi", "nk>"

TEST(ThoughtLimit, EndsAThoughtThatThePromptBegan) {
  ThoughtLimit thought(true, 2, kEnd);
  EXPECT_EQ(thought.next(), kNoToken);
  thought.accept(1, true, true);
  EXPECT_EQ(thought.next(), kNoToken);
  thought.accept(2, true, true);
  EXPECT_EQ(thought.next(), 90);
  thought.accept(90, true, true);
  EXPECT_EQ(thought.next(), 91);
  thought.accept(91, false, true);
  EXPECT_EQ(thought.next(), kNoToken);
  for (int i = 0; i < 5; ++i) thought.accept(1, false, true);
  EXPECT_EQ(thought.next(), kNoToken);
}

TEST(ThoughtLimit, EndsAtOnceWhereNothingMayBeThought) {
  EXPECT_EQ(ThoughtLimit(true, 0, kEnd).next(), 90);
  EXPECT_EQ(ThoughtLimit(false, 0, kEnd).next(), kNoToken);
}

TEST(ThoughtLimit, CountsFromTheModelsOwnMark) {
  ThoughtLimit thought(false, 1, kEnd);
  thought.accept(5, true, true);
  EXPECT_EQ(thought.next(), kNoToken);
  thought.accept(1, true, true);
  EXPECT_EQ(thought.next(), 90);
}

TEST(ThoughtLimit, LetsAnEarlierEndBe) {
  ThoughtLimit thought(true, 2, kEnd);
  thought.accept(1, true, true);
  thought.accept(7, false, true);
  thought.accept(1, false, true);
  EXPECT_EQ(thought.next(), kNoToken);
}

TEST(ThoughtLimit, WaitsForTheEndOfACharacter) {
  ThoughtLimit thought(true, 1, kEnd);
  thought.accept(3, true, false);  // the first bytes of a character
  EXPECT_EQ(thought.next(), kNoToken);
  thought.accept(4, true, true);
  EXPECT_EQ(thought.next(), 90);
}

}  // namespace
}  // namespace kinglet
