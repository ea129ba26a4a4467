#include "text/unicode_table.h"

#include <algorithm>
#include <iterator>

namespace kinglet {

namespace {

constexpr unsigned kTraitBits = 11;

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
    runs_.push_back(code_point << kTraitBits | kRunKinds[*at & 15]);
    uint32_t length = *at >> 4 & 7u;
    for (unsigned shift = 3; (*at++ & 128) != 0; shift += 7) length |= (*at & 127u) << shift;
    code_point += length;
  }
}

uint16_t UnicodeTable::traits(char32_t code_point) const {
  const uint32_t after = (static_cast<uint32_t>(code_point) + 1) << kTraitBits;
  const uint32_t run = *std::prev(std::lower_bound(runs_.begin(), runs_.end(), after));
  constexpr uint32_t kAlternates = trait::kUpper | trait::kLower;
  if ((run & kAlternates) != kAlternates) {
    return run & ((1u << kTraitBits) - 1);
  }
  const bool is_lower = (code_point - (run >> kTraitBits)) % 2 != 0;
  return trait::kLetter | (is_lower ? trait::kLower : trait::kUpper);
}

}  // namespace kinglet
