#include "text/unicode_table.h"

#include <algorithm>
#include <iterator>

namespace kinglet {

namespace {

constexpr unsigned kKindBits = 11;
constexpr uint32_t kKindMask = (1u << kKindBits) - 1;

// The kinds after the categories.
constexpr uint32_t kLineSpace = 29;     // tab, LF and CR, which are Cc
constexpr uint32_t kControlSpace = 30;  // other white space that is Cc
constexpr uint32_t kAlternating = 31;   // Lu and Ll in turns

constexpr uint16_t kTraits[] = {
    // clang-format off
    trait::kLetter | trait::kUpper, trait::kLetter | trait::kLower, trait::kLetter | trait::kUpper,
    trait::kLetter, trait::kLetter,
    trait::kMark | trait::kAccent, trait::kMark, trait::kMark,
    trait::kNumber, trait::kNumber, trait::kNumber,
    trait::kPunctuation, trait::kPunctuation, trait::kPunctuation, trait::kPunctuation,
    trait::kPunctuation, trait::kPunctuation, trait::kPunctuation,
    trait::kSymbol, trait::kSymbol, trait::kSymbol, trait::kSymbol,
    trait::kSpace, trait::kSpace, trait::kSpace,
    trait::kControl, trait::kControl, trait::kControl, 0,
    trait::kSpace, trait::kSpace | trait::kControl,
    // clang-format on
};

// Returns the categories of a run.
Categories categories_of(uint32_t kind) {
  switch (kind) {
    case kLineSpace:
    case kControlSpace:
      return bit_of(Category::cc);
    case kAlternating:
      return bit_of(Category::lu) | bit_of(Category::ll);
    default:
      return Categories{1} << kind;
  }
}

}  // namespace

bool is_in(std::span<const CodePointRange> ranges, char32_t code_point) {
  const auto range = std::partition_point(
      ranges.begin(), ranges.end(),
      [code_point](const CodePointRange& before) { return before.last < code_point; });
  return range != ranges.end() && code_point >= range->first;
}

const UnicodeTable& UnicodeTable::get() {
  static const UnicodeTable table;
  return table;
}

UnicodeTable::UnicodeTable() {
  uint32_t code_point = 0;
  for (const uint8_t* at = kPackedRuns; at != std::end(kPackedRuns);) {
    runs_.push_back(code_point << kKindBits | (*at & 31u));
    uint32_t length = *at >> 5 & 3u;
    for (unsigned shift = 2; (*at++ & 128) != 0; shift += 7) length |= (*at & 127u) << shift;
    code_point += length;
  }
}

uint16_t UnicodeTable::traits(char32_t code_point) const {
  const uint32_t after = (static_cast<uint32_t>(code_point) + 1) << kKindBits;
  const uint32_t run = *std::prev(std::lower_bound(runs_.begin(), runs_.end(), after));
  if ((run & kKindMask) != kAlternating) return kTraits[run & kKindMask];
  const bool is_lower = (code_point - (run >> kKindBits)) % 2 != 0;
  return trait::kLetter | (is_lower ? trait::kLower : trait::kUpper);
}

std::vector<CodePointRange> UnicodeTable::with_categories(Categories categories) const {
  constexpr char32_t kEnd = 0x110000;
  std::vector<CodePointRange> ranges;
  const auto add = [&](char32_t first, char32_t last) {
    if (!ranges.empty() && first == ranges.back().last + 1) {
      ranges.back().last = last;
    } else {
      ranges.push_back({first, last});
    }
  };
  for (size_t i = 0; i < runs_.size(); ++i) {
    const char32_t first = runs_[i] >> kKindBits;
    const char32_t end = i + 1 < runs_.size() ? runs_[i + 1] >> kKindBits : kEnd;
    const Categories of_run = categories_of(runs_[i] & kKindMask);
    if ((of_run & ~categories) == 0) {
      add(first, end - 1);
    } else if ((of_run & categories) != 0) {  // one of two that alternate
      const bool is_lower = (categories & bit_of(Category::ll)) != 0;
      for (char32_t c = first + (is_lower ? 1 : 0); c < end; c += 2) add(c, c);
    }
  }
  return ranges;
}

}  // namespace kinglet
