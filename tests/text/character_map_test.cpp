#include "text/character_map.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace kinglet {
namespace {

std::u32string lower(std::u32string_view text) {
  std::u32string out;
  for (const char32_t c : text) append_lower_case(c, out);
  return out;
}

std::u32string bare(std::u32string_view text) {
  std::u32string out;
  for (const char32_t c : text) append_without_accents(c, out);
  return out;
}

TEST(CharacterMap, UnpacksStepsAndRuns) {
  // 5 maps to 7: the fifth character after 4 others, target up by 7. Then three more characters, 7,
  // 9 and 11, each target up by 1. Then 141, 130 characters on, target down by 10.
  const uint8_t packed[] = {7 << 4 | 3, 2, 1 << 4 | 4 | 1, 2, 0x80 | (19 << 3 & 127) | 3, 1, 126};
  const CharacterMap map(packed);
  EXPECT_EQ(map[5], 7u);
  EXPECT_EQ(map[7], 8u);
  EXPECT_EQ(map[9], 9u);
  EXPECT_EQ(map[11], 10u);
  EXPECT_EQ(map[141], 0u);
  for (const char32_t other : {0u, 4u, 6u, 12u, 13u, 140u, 142u, 0x10ffffu}) {
    EXPECT_EQ(map[other], other);
  }
}

TEST(CharacterMap, PutsInSmallLetters) {
  EXPECT_EQ(lower(U"AZaz@[ÀÞß×ĀāŸΣΆЯԱႠẞἌⅧⒶⰀＡ𐐀𞤀中"),
            U"azaz@[àþß×āāÿσάяաⴀßἄⅷⓐⰰａ𐐨𞤢中");
  EXPECT_EQ(lower(U"İIı"), U"i\u0307iı");
}

TEST(CharacterMap, TakesAccentsAway) {
  EXPECT_EQ(bare(U"azAZ09"), U"azAZ09");
  EXPECT_EQ(bare(U"ÀåÇéñøłßΆὧṩệĳ"), U"AaCenøłßΑωseĳ");
  EXPECT_EQ(bare(U"e\u0301\u0323\U0001e000"), U"e");
  EXPECT_EQ(bare(U"\u0344\u0f73"), U"");  // accents that are two
  EXPECT_EQ(bare(U"\u212b\u2126\u037e\u2000\u2adc"), U"AΩ;\u2002\u2add");
  EXPECT_EQ(bare(U"\uf900\ufa0e\ufad9\U0002f800\U0002fa1d"), U"\u8c48\ufa0e\u9f8e\u4e3d\U0002a600");
}

// Vowel signs, length marks and enclosing marks are not accents.
TEST(CharacterMap, KeepsOtherMarks) {
  EXPECT_EQ(bare(U"\u093f\u20e3"), U"\u093f\u20e3");
  EXPECT_EQ(bare(U"\u0bcb\u0ddd"), U"\u0bc7\u0bbe\u0dd9\u0dcf");
  EXPECT_EQ(bare(U"\U0001d160"), U"\U0001d158\U0001d165\U0001d16e");
  EXPECT_EQ(bare(U"\U00016d6a"), U"\U00016d63\U00016d67\U00016d67");
}

TEST(CharacterMap, TakesSyllablesOfHangulApart) {
  EXPECT_EQ(bare(U"가각힣"), U"\u1100\u1161\u1100\u1161\u11a8\u1112\u1175\u11c2");
  EXPECT_EQ(bare(U"\uabff\ud7a4\u1100"), U"\uabff\ud7a4\u1100");
}

}  // namespace
}  // namespace kinglet
