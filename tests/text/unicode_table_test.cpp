#include "text/unicode_table.h"

#include <gtest/gtest.h>

#include <tuple>

namespace kinglet {
namespace {

TEST(UnicodeTable, KnowsCharactersOfEveryCategory) {
  struct Case {
    char32_t code_point;
    int traits;
  };
  using namespace trait;
  for (const auto& [code_point, traits] : {
           Case{U'A', kLetter | kUpper},
           Case{U'z', kLetter | kLower},
           Case{U'ǅ', kLetter | kUpper},  // Lt
           Case{U'Ā', kLetter | kUpper},
           Case{U'ā', kLetter | kLower},  // in a run that alternates
           Case{U'ı', kLetter | kLower},
           Case{U'ĸ', kLetter | kLower},
           Case{U'中', kLetter},
           Case{U'ª', kLetter},
           Case{U'ʰ', kLetter},
           Case{U'\U00010400', kLetter | kUpper},
           Case{U'7', kNumber},
           Case{U'²', kNumber},
           Case{U'Ⅷ', kNumber},
           Case{U'٣', kNumber},
           Case{U'\u0301', kMark | kAccent},
           Case{U'\u0903', kMark},
           Case{U'!', kPunctuation},
           Case{U'_', kPunctuation},
           Case{U'。', kPunctuation},
           Case{U'$', kSymbol},
           Case{U'^', kSymbol},
           Case{U'€', kSymbol},
           Case{U'😀', kSymbol},
           Case{U'\ufffd', kSymbol},
           Case{U' ', kSpace},
           Case{U'\t', kSpace},
           Case{U'\u0085', kSpace | kControl},
           Case{U'\u00a0', kSpace},
           Case{U'\u3000', kSpace},
           Case{U'\0', kControl},
           Case{U'\u00ad', kControl},
           Case{U'\u200b', kControl},
           Case{U'\ufeff', kControl},
           Case{U'\ue000', kControl},
           Case{U'\u0378', 0},
           Case{U'\U0010ffff', 0},
       }) {
    EXPECT_EQ(UnicodeTable::get().traits(code_point), traits)
        << "U+" << std::hex << uint32_t{code_point};
  }
}

// The letters of ASCII and Latin-1, counted by hand in Unicode 17's DerivedGeneralCategory.
TEST(UnicodeTable, CountsTheLettersOfLatin1) {
  int upper = 0;
  int lower = 0;
  for (char32_t c = 0; c < 0x100; ++c) {
    upper += (UnicodeTable::get().traits(c) & trait::kUpper) != 0;
    lower += (UnicodeTable::get().traits(c) & trait::kLower) != 0;
  }
  EXPECT_EQ(upper, 26 + 30);  // À to Þ without ×
  EXPECT_EQ(lower, 26 + 33);  // ß to ÿ without ÷, and µ
}

TEST(UnicodeTable, ListsTheCharactersOfCategories) {
  const auto has = [](Categories categories, char32_t code_point) {
    return is_in(UnicodeTable::get().with_categories(categories), code_point);
  };
  const Categories upper = bit_of(Category::lu);
  const Categories lower = bit_of(Category::ll);
  for (const auto& [categories, inside, outside] :
       {std::tuple(upper, U'A', U'a'), std::tuple(upper, U'Ā', U'ā'), std::tuple(lower, U'ā', U'Ā'),
        std::tuple(upper, U'Ж', U'ǅ'), std::tuple(bit_of(Category::lt), U'ǅ', U'Ǆ'),
        std::tuple(bit_of(Category::cc), U'\t', U' '),
        std::tuple(bit_of(Category::cc), U'\v', U'\u00ad'),
        std::tuple(bit_of(Category::zs), U'\u00a0', U'\u2028'),
        std::tuple(bit_of(Category::cn), U'\u0378', U'\ue000')}) {
    EXPECT_TRUE(has(categories, inside)) << std::hex << uint32_t{inside};
    EXPECT_FALSE(has(categories, outside)) << std::hex << uint32_t{outside};
  }
  const auto both = UnicodeTable::get().with_categories(upper | lower);
  ASSERT_FALSE(both.empty());
  EXPECT_EQ(both[0].first, U'A');
  EXPECT_TRUE(is_in(both, U'ā'));
  const auto all = UnicodeTable::get().with_categories(~Categories{0});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].last, 0x10ffffu);
}

}  // namespace
}  // namespace kinglet
