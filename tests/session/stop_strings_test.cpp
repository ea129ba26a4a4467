#include "session/stop_strings.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kinglet {
namespace {

StopStrings stops(std::vector<std::string> strings) {
  auto created = StopStrings::create(std::move(strings));
  EXPECT_TRUE(created.ok());
  return std::move(created.value());
}

// The text that is passed on for each piece, with "|" after it, and at the end.
std::string let_through(StopStrings matcher, const std::vector<std::string>& pieces) {
  std::string out;
  for (const std::string& piece : pieces) out += matcher.next(piece) + "|";
  return out + matcher.finish();
}

TEST(StopStrings, LetEverythingThroughAtOnceWhereThereAreNone) {
  EXPECT_EQ(let_through(stops({}), {"a", "", "bc"}), "a||bc|");
}

TEST(StopStrings, HoldBackOnlyWhatMayBecomeOne) {
  EXPECT_EQ(let_through(stops({"END"}), {"an E", "N", "d", "E", "x"}), "an ||ENd||Ex|");
  // Only a part of the held bytes turns out to be text.
  EXPECT_EQ(let_through(stops({"aab"}), {"a", "a", "a", "b", "c"}), "||a|||");
  EXPECT_EQ(let_through(stops({"\n\n"}), {"one\n", "two\n"}), "one|\ntwo|\n");
}

TEST(StopStrings, GiveBackWhatWasHeldAtTheEnd) {
  EXPECT_EQ(let_through(stops({"<end>"}), {"text <e", "nd"}), "text ||<end");
}

TEST(StopStrings, FindTheFirstToBeCompleteHoweverTheTextIsCut) {
  const std::string text = "so it goes, abc and d\n\nEND";
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"END"}, "so it goes, abc and d\n\n"},
      {{"END", "\n\n"}, "so it goes, abc and d"},
      {{"abcd", "bc"}, "so it goes, a"},
      {{"bc", "abc"}, "so it goes, "},
      {{"abc", "bc", "c"}, "so it goes, "},
      {{"none of it"}, text},
      {{"s"}, ""},
  };
  for (const auto& [strings, expected] : cases) {
    for (size_t first = 0; first <= text.size(); ++first) {
      for (size_t second = first; second <= text.size(); ++second) {
        StopStrings matcher = stops(strings);
        std::string out = matcher.next(text.substr(0, first));
        out += matcher.next(text.substr(first, second - first));
        out += matcher.next(text.substr(second));
        EXPECT_EQ(matcher.found(), expected != text);
        out += matcher.finish();
        ASSERT_EQ(out, expected) << first << " " << second;
      }
    }
  }
}

TEST(StopStrings, FindWhatRepeatsItself) {
  EXPECT_EQ(let_through(stops({"aabaaab"}), {"aabaabaaab", "c"}), "aab||");
  EXPECT_EQ(let_through(stops({"abab", "babc"}), {"aba", "c", "bab", "cab"}), "|abac|||");
  // A million steps, not a million times a million.
  const std::string same(1'000'000, 'a');
  EXPECT_EQ(let_through(stops({same + "b"}), {same, same, "b"}), "|" + same + "||");
}

TEST(StopStrings, NeverCutACharacter) {
  // Both pairs begin with the same bytes: "é" is c3 a9, "è" is c3 a8; "€" is e2 82 ac, "₤" is e2 82
  // a4.
  EXPECT_EQ(let_through(stops({"é", "€"}), {"caf", "è ₤", "€"}), "caf|è ₤||");
  EXPECT_EQ(let_through(stops({"🐦🐦"}), {"a🐦", "b🐦", "🐦"}), "a|🐦b||");
}

TEST(StopStrings, RefuseTooMany) {
  EXPECT_TRUE(StopStrings::create(std::vector<std::string>(kMostStops, "a")).ok());
  const auto many = StopStrings::create(std::vector<std::string>(kMostStops + 1, "a"));
  ASSERT_FALSE(many.ok());
  EXPECT_EQ(many.error().message, "there are 257 stop strings, expected at most 256");
}

TEST(StopStrings, RefuseWhatIsEmptyOrNoText) {
  for (const std::string bad : {"", "\xc3", "a\xff"}) {
    const auto created = StopStrings::create({"fine", bad});
    ASSERT_FALSE(created.ok());
    EXPECT_EQ(created.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(created.error().message.find("stop string 1"), std::string::npos);
  }
}

}  // namespace
}  // namespace kinglet
