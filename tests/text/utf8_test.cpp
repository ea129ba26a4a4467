#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace kinglet {
namespace {

bool is_scalar_value(char32_t code_point) {
  return code_point < 0xd800 || (code_point > 0xdfff && code_point <= 0x10ffff);
}

void expect_char(std::string_view text, char32_t code_point, size_t n_bytes, Utf8State state) {
  const Utf8Char character = decode_utf8(text);
  EXPECT_EQ(character.code_point, code_point);
  EXPECT_EQ(character.n_bytes, n_bytes);
  EXPECT_EQ(character.state, state);
}

void expect_ill_formed(std::string_view text, size_t n_bytes) {
  expect_char(text, kReplacementCharacter, n_bytes, Utf8State::ill_formed);
}

TEST(Utf8, ReadsEveryScalarValueThatItWrites) {
  for (char32_t code_point = 0; code_point <= 0x10ffff; ++code_point) {
    if (!is_scalar_value(code_point)) continue;
    std::string text;
    append_utf8(text, code_point);
    const Utf8Char character = decode_utf8(text);
    ASSERT_EQ(character.code_point, code_point);
    ASSERT_EQ(character.n_bytes, text.size());
    ASSERT_EQ(character.state, Utf8State::well_formed);
  }
}

TEST(Utf8, WritesTheShortestForm) {
  std::string text;
  for (const char32_t code_point :
       std::u32string{0x7f, 0x80, 0x7ff, 0x800, 0xffff, 0x10000, 0x10ffff}) {
    append_utf8(text, code_point);
  }
  EXPECT_EQ(text, "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
}

TEST(Utf8, EveryBeginningOfACharacterIsUnfinished) {
  for (const std::string_view text : {"é", "€", "\ud7ff", "😀", "\U0010ffff"}) {
    for (size_t n = 1; n < text.size(); ++n) {
      expect_char(text.substr(0, n), kReplacementCharacter, n, Utf8State::unfinished);
    }
  }
}

TEST(Utf8, NeverTakesMoreThanTheMaximalSubpart) {
  expect_ill_formed("\x80", 1);
  expect_ill_formed("\xc0\xaf", 1);
  expect_ill_formed("\xc1\xbf", 1);
  expect_ill_formed("\xf5\x80\x80\x80", 1);
  expect_ill_formed("\xff", 1);
  expect_ill_formed("\xe2(", 1);
  expect_ill_formed("\xe2\x82(", 2);
  expect_ill_formed("\xf0\x9f\x98(", 3);
}

TEST(Utf8, RefusesOverlongFormsSurrogatesAndWhatLiesAboveUnicode) {
  expect_ill_formed("\xe0\x9f\xbf", 1);
  expect_ill_formed("\xed\xa0\x80", 1);
  expect_ill_formed("\xf0\x8f\xbf\xbf", 1);
  expect_ill_formed("\xf4\x90\x80\x80", 1);
}

TEST(Utf8, FindsAndReplacesWhatIsNoCharacter) {
  EXPECT_EQ(find_ill_formed("a€"), std::string_view::npos);
  EXPECT_EQ(find_ill_formed("a\xe2\x82"), 1u);
  EXPECT_EQ(replace_ill_formed("a€"), "a€");
  EXPECT_EQ(replace_ill_formed("a\xe2\x82(\xff"), "a\ufffd(\ufffd");
  EXPECT_EQ(replace_ill_formed(""), "");
}

}  // namespace
}  // namespace kinglet
