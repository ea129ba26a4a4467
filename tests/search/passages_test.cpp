#include "search/passages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace kinglet {
namespace {

// Counts words: a number that tests can see.
size_t count_words(std::string_view text) {
  size_t n = 0;
  bool is_in_word = false;
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\n' || c == '\t';
    n += !is_space && !is_in_word ? 1 : 0;
    is_in_word = !is_space;
  }
  return n;
}

std::vector<std::string> cut(std::string_view text, size_t max_tokens, size_t overlap = 0) {
  std::vector<std::string> texts;
  for (const Passage& passage : cut_passages(text, {max_tokens, overlap, count_words})) {
    texts.emplace_back(passage.of(text));
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Passages, AreNoneOfEmptyTexts) {
  EXPECT_EQ(cut("", 8), Texts());
  EXPECT_EQ(cut(" \n\n\t ", 8), Texts());
}

TEST(Passages, EndAfterSentences) {
  EXPECT_EQ(cut("One two three. Four five six! Seven eight? Nine.", 8),
            (Texts{"One two three. Four five six! Seven eight?", "Nine."}));
  // Quotes belong to their sentence; abbreviations and initials end none.
  EXPECT_EQ(cut("\"Go now.\" Dr. A. Smith left at 3.5 miles.", 3),
            (Texts{"\"Go now.\"", "Dr. A.", "Smith left", "at 3.5 miles."}));
}

TEST(Passages, AreCutInScriptsWithoutSpace) {
  EXPECT_EQ(cut("今日は。明日は！昨日は？", 1), (Texts{"今日は。", "明日は！", "昨日は？"}));
  const auto count = [](std::string_view text) { return text.size() / 3; };
  const std::string_view text = "今日は晴れです。明日は雨でしょう。";
  const auto passages = cut_passages(text, {10, 0, count});
  ASSERT_EQ(passages.size(), 2u);
  EXPECT_EQ(passages[0].of(text), "今日は晴れです。");
  EXPECT_EQ(passages[1].of(text), "明日は雨でしょう。");
}

TEST(Passages, KeepHeadingsWithWhatFollows) {
  EXPECT_EQ(cut("a b c d e f\n\n# Title\n\nOne two three four.", 8),
            (Texts{"a b c d e f", "# Title\n\nOne two three four."}));
}

TEST(Passages, EndAfterParagraphsThatFillHalf) {
  EXPECT_EQ(cut("a b c d e.\n\nf g h. i j k.", 8), (Texts{"a b c d e.", "f g h. i j k."}));
}

TEST(Passages, RepeatSentencesOfTheSameParagraph) {
  EXPECT_EQ(cut("aa bb cc. dd ee. ff gg hh ii. jj kk.", 8, 3),
            (Texts{"aa bb cc. dd ee.", "dd ee. ff gg hh ii. jj kk."}));
  // Not across paragraphs.
  EXPECT_EQ(cut("aa bb cc. dd ee.\n\nff gg hh ii jj kk.", 8, 3),
            (Texts{"aa bb cc. dd ee.", "ff gg hh ii jj kk."}));
}

TEST(Passages, CutLinesOfCode) {
  EXPECT_EQ(cut("```\nint a = 1;\nint b = 2;\nint c = 3;\n```", 9),
            (Texts{"```\nint a = 1;\nint b = 2;", "int c = 3;\n```"}));
}

TEST(Passages, CutLongWordsBetweenCharacters) {
  const auto count = [](std::string_view text) { return text.size(); };
  std::string text;
  for (int i = 0; i < 100; ++i) text += "é";
  size_t next = 0;
  for (const Passage& passage : cut_passages(text, {9, 0, count})) {
    EXPECT_EQ(passage.begin, next);
    EXPECT_LE(passage.end - passage.begin, 9u);
    EXPECT_EQ((passage.end - passage.begin) % 2, 0u);
    next = passage.end;
  }
  EXPECT_EQ(next, text.size());
}

// Whatever the text is: passages are in order, lose nothing but space, and are short enough.
TEST(Passages, HoldForAnyText) {
  const std::string_view pieces[] = {
      "word ",    "Dr. ", "end. ", "\n",   "\n\n",        "# head\n",          "- item\n", "```\n",
      "日本語。", "a",    "?!\" ", "    ", "| x | y |\n", "\xf0\x9f\x98\x80 ", "1. one\n"};
  uint32_t state = 1;
  const auto next = [&state] { return (state = state * 1664525u + 1013904223u) >> 16; };
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (uint32_t n = next() % 120; n > 0; --n) text += pieces[next() % std::size(pieces)];
    const size_t max_tokens = 8 + next() % 8;
    const auto count = [](std::string_view part) { return part.size() / 4 + 1; };
    size_t end = 0;
    size_t begin = 0;
    for (const Passage& passage : cut_passages(text, {max_tokens, next() % 6, count})) {
      ASSERT_GT(passage.end, passage.begin);
      ASSERT_GE(passage.end, end);
      ASSERT_GE(passage.begin, begin);
      if (passage.begin > end) {
        ASSERT_EQ(text.substr(end, passage.begin - end).find_first_not_of(" \n"), text.npos);
      }
      ASSERT_LE(count(passage.of(text)), max_tokens);
      begin = passage.begin;
      end = passage.end;
    }
    ASSERT_EQ(text.find_first_not_of(" \n", end), text.npos) << text;
  }
}

}  // namespace
}  // namespace kinglet
