#include "text/jinja/letters.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kinglet::jinja {
namespace {

// A range of upper-case letters, and the distance to their lower-case letters. With distance 1,
// upper and lower case alternate within the range, upper case first.
struct Letters {
  uint16_t first;
  uint16_t last;
  int16_t distance;
};

// Source: Unicode's UnicodeData.txt.
constexpr Letters kLetters[] = {
    {'A', 'Z', 32},
    // Latin
    {0xc0, 0xd6, 32},
    {0xd8, 0xde, 32},
    {0x100, 0x12f, 1},
    {0x132, 0x137, 1},
    {0x139, 0x148, 1},
    {0x14a, 0x177, 1},
    {0x178, 0x178, 0xff - 0x178},
    {0x179, 0x17e, 1},
    {0x1a0, 0x1a5, 1},
    {0x1af, 0x1b0, 1},
    {0x1cd, 0x1dc, 1},
    {0x1de, 0x1ef, 1},
    {0x1f8, 0x21f, 1},
    {0x222, 0x233, 1},
    {0x1e00, 0x1e95, 1},
    {0x1ea0, 0x1eff, 1},
    {0xff21, 0xff3a, 32},
    // Greek
    {0x386, 0x386, 38},
    {0x388, 0x38a, 37},
    {0x38c, 0x38c, 64},
    {0x38e, 0x38f, 63},
    {0x391, 0x3a1, 32},
    {0x3a3, 0x3ab, 32},
    // Cyrillic
    {0x400, 0x40f, 80},
    {0x410, 0x42f, 32},
    {0x460, 0x481, 1},
    {0x48a, 0x4bf, 1},
    {0x4c0, 0x4c0, 15},
    {0x4c1, 0x4ce, 1},
    {0x4d0, 0x52f, 1},
    // Armenian
    {0x531, 0x556, 48},
};

// Ranges with other letters that have case, or with special forms of letters.
constexpr std::pair<uint16_t, uint16_t> kUnknown[] = {
    {0xaa, 0xaa},     {0xb5, 0xb5},     {0xba, 0xba},     {0x130, 0x131},   {0x138, 0x138},
    {0x149, 0x149},   {0x17f, 0x2b8},   {0x2c0, 0x2c1},   {0x2e0, 0x2e4},   {0x345, 0x345},
    {0x370, 0x3ff},   {0x560, 0x588},   {0x10a0, 0x10ff}, {0x13a0, 0x13ff}, {0x1c80, 0x1cbf},
    {0x1d00, 0x1dbf}, {0x1e96, 0x1e9f}, {0x1f00, 0x1fff}, {0x2071, 0x209c}, {0x2102, 0x2102},
    {0x2107, 0x2107}, {0x210a, 0x2115}, {0x2119, 0x211d}, {0x2124, 0x214e}, {0x2160, 0x2188},
    {0x24b6, 0x24e9}, {0x2c00, 0x2d2d}, {0xa640, 0xa69d}, {0xa722, 0xa7ff}, {0xab30, 0xabbf},
    {0xfb00, 0xfb17}};

}  // namespace

Letter letter_of(char32_t code_point) {
  const auto code = static_cast<int>(code_point);
  for (const auto& [first, last, distance] : kLetters) {
    if (distance == 1) {
      if (code < first || code > last) continue;
      const bool is_lower = (code - first) % 2 != 0;
      return {is_lower ? Case::lower : Case::upper, is_lower ? code_point - 1 : code_point + 1};
    }
    if (code >= first && code <= last) {
      return {Case::upper, static_cast<char32_t>(code + distance)};
    }
    // 0x3c2, the lower-case sigma at the end of a word, is another letter.
    const bool is_lower = code >= first + distance && code <= last + distance && code != 0x3c2;
    if (is_lower) return {Case::lower, static_cast<char32_t>(code - distance)};
  }
  const auto is_in = [&](const auto& range) { return range.first <= code && code <= range.second; };
  const bool is_unknown = std::any_of(std::begin(kUnknown), std::end(kUnknown), is_in) ||
                          (code >= 0x10400 && code < 0x1f000) ||
                          (code >= 0x1f130 && code < 0x1f18a);
  return {is_unknown ? Case::unknown : Case::none};
}

}  // namespace kinglet::jinja
