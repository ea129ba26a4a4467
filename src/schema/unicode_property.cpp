#include "schema/unicode_property.h"

#include <array>
#include <span>

#include "text/character_map.h"
#include "text/unicode_table.h"

namespace kinglet::schema {
namespace {

struct CategoryName {
  std::string_view alias;
  std::string_view name;
  Categories categories;
};

// The set of all categories from the first to the last.
constexpr Categories all_from(Category first, Category last) {
  return bit_of(last) | (bit_of(last) - bit_of(first));
}

constexpr Categories kCased = all_from(Category::lu, Category::lt);
constexpr Categories kLetters = all_from(Category::lu, Category::lo);
constexpr Categories kMarks = all_from(Category::mn, Category::me);
constexpr Categories kNumbers = all_from(Category::nd, Category::no);
constexpr Categories kPunctuation = all_from(Category::pc, Category::po);
constexpr Categories kSymbols = all_from(Category::sm, Category::so);
constexpr Categories kSeparators = all_from(Category::zs, Category::zp);
constexpr Categories kOthers = all_from(Category::cc, Category::cn);

// Source: PropertyValueAliases.txt of the Unicode Character Database.
constexpr auto kCategoryNames = std::to_array<CategoryName>({
    {"L", "Letter", kLetters},
    {"LC", "Cased_Letter", kCased},
    {"Lu", "Uppercase_Letter", bit_of(Category::lu)},
    {"Ll", "Lowercase_Letter", bit_of(Category::ll)},
    {"Lt", "Titlecase_Letter", bit_of(Category::lt)},
    {"Lm", "Modifier_Letter", bit_of(Category::lm)},
    {"Lo", "Other_Letter", bit_of(Category::lo)},
    {"M", "Mark", kMarks},
    {"M", "Combining_Mark", kMarks},
    {"Mn", "Nonspacing_Mark", bit_of(Category::mn)},
    {"Mc", "Spacing_Mark", bit_of(Category::mc)},
    {"Me", "Enclosing_Mark", bit_of(Category::me)},
    {"N", "Number", kNumbers},
    {"Nd", "Decimal_Number", bit_of(Category::nd)},
    {"Nd", "digit", bit_of(Category::nd)},
    {"Nl", "Letter_Number", bit_of(Category::nl)},
    {"No", "Other_Number", bit_of(Category::no)},
    {"P", "Punctuation", kPunctuation},
    {"P", "punct", kPunctuation},
    {"Pc", "Connector_Punctuation", bit_of(Category::pc)},
    {"Pd", "Dash_Punctuation", bit_of(Category::pd)},
    {"Ps", "Open_Punctuation", bit_of(Category::ps)},
    {"Pe", "Close_Punctuation", bit_of(Category::pe)},
    {"Pi", "Initial_Punctuation", bit_of(Category::pi)},
    {"Pf", "Final_Punctuation", bit_of(Category::pf)},
    {"Po", "Other_Punctuation", bit_of(Category::po)},
    {"S", "Symbol", kSymbols},
    {"Sm", "Math_Symbol", bit_of(Category::sm)},
    {"Sc", "Currency_Symbol", bit_of(Category::sc)},
    {"Sk", "Modifier_Symbol", bit_of(Category::sk)},
    {"So", "Other_Symbol", bit_of(Category::so)},
    {"Z", "Separator", kSeparators},
    {"Zs", "Space_Separator", bit_of(Category::zs)},
    {"Zl", "Line_Separator", bit_of(Category::zl)},
    {"Zp", "Paragraph_Separator", bit_of(Category::zp)},
    {"C", "Other", kOthers},
    {"Cc", "Control", bit_of(Category::cc)},
    {"Cc", "cntrl", bit_of(Category::cc)},
    {"Cf", "Format", bit_of(Category::cf)},
    {"Co", "Private_Use", bit_of(Category::co)},
});

struct BinaryProperty {
  std::string_view alias;
  std::string_view name;
  Categories categories;  // all of whose characters have the property
};

// In the order of the generated data.
constexpr auto kProperties = std::to_array<BinaryProperty>({
    {"Alpha", "Alphabetic", kLetters | bit_of(Category::nl)},
    {"Upper", "Uppercase", bit_of(Category::lu)},
    {"Lower", "Lowercase", bit_of(Category::ll)},
    {"space", "White_Space", kSeparators},
    {"Emoji", "Emoji", 0},
    {"EPres", "Emoji_Presentation", 0},
    {"EMod", "Emoji_Modifier", 0},
    {"EBase", "Emoji_Modifier_Base", 0},
    {"EComp", "Emoji_Component", 0},
    {"ExtPict", "Extended_Pictographic", 0},
});

CharacterSet with_categories(Categories categories) {
  CharacterSet set;
  for (const auto [first, last] : UnicodeTable::get().with_categories(categories)) {
    set.push_back({first, last});
  }
  return set;
}

// Returns the characters with a property of kProperties.
CharacterSet with_property(const BinaryProperty& wanted) {
  CharacterSet set = with_categories(wanted.categories);
  std::span<const uint8_t> packed = kPackedProperties;
  for (const BinaryProperty& property : kProperties) {
    char32_t next = 0;
    for (uint32_t n = next_number(packed); n > 0; --n) {
      const char32_t first = next + next_number(packed);
      next = first + next_number(packed);
      if (property.name == wanted.name) set.push_back({first, next - 1});
    }
  }
  return normalized(std::move(set));
}

}  // namespace

std::optional<CharacterSet> characters_with(std::string_view property) {
  constexpr CodePoints kSurrogates = {0xd800, 0xdfff};
  std::string_view category = property;
  for (const std::string_view prefix : {"General_Category=", "gc="}) {
    if (property.starts_with(prefix)) category.remove_prefix(prefix.size());
  }
  for (const auto& [alias, name, categories] : kCategoryNames) {
    if (category == alias || category == name) return with_categories(categories);
  }
  const bool is_unassigned = category == "Cn" || category == "Unassigned";
  CharacterSet unassigned =
      intersection(with_categories(bit_of(Category::cn)), complement({kSurrogates}));
  if (is_unassigned) return unassigned;
  if (category == "Cs" || category == "Surrogate") return CharacterSet{kSurrogates};
  for (const BinaryProperty& known : kProperties) {
    if (property == known.alias || property == known.name) return with_property(known);
  }
  if (property == "Any") return CharacterSet{kAnyCodePoint};
  if (property == "Assigned") return complement(std::move(unassigned));
  if (property == "ASCII") return CharacterSet{{0, 0x7f}};
  if (property == "Regional_Indicator" || property == "RI") return CharacterSet{{0x1f1e6, 0x1f1ff}};
  if (property == "ASCII_Hex_Digit" || property == "AHex") {
    return CharacterSet{{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
  }
  return std::nullopt;
}

}  // namespace kinglet::schema
