#include "text/character_map.h"

#include <algorithm>

#include "text/unicode_table.h"

namespace kinglet {
namespace {

bool is_accent(char32_t code_point) {
  return (UnicodeTable::get().traits(code_point) & trait::kAccent) != 0;
}

// Source: the Unicode Standard, section 3.12, Hangul Syllable Decomposition.
constexpr char32_t kFirstSyllable = 0xac00;
constexpr char32_t kLastSyllable = 0xd7a3;

void append_letters(char32_t syllable, std::u32string& out) {
  constexpr char32_t kNVowels = 21;
  constexpr char32_t kNFinals = 28;  // including "no final"
  const char32_t index = syllable - kFirstSyllable;
  out.push_back(U'\u1100' + index / (kNVowels * kNFinals));
  out.push_back(U'\u1161' + index / kNFinals % kNVowels);
  if (index % kNFinals != 0) out.push_back(U'\u11a7' + index % kNFinals);
}

}  // namespace

uint32_t next_number(std::span<const uint8_t>& packed) {
  uint32_t number = 0;
  for (unsigned shift = 0;; shift += 7) {
    const uint8_t byte = packed.front();
    packed = packed.subspan(1);
    number |= (byte & 127u) << shift;
    if ((byte & 128) == 0) return number;
  }
}

CharacterMap::CharacterMap(std::span<const uint8_t> packed) {
  Pair pair = {static_cast<char32_t>(-1), 0};
  while (!packed.empty()) {
    const uint32_t head = next_number(packed);
    uint32_t gap = head & 3;
    if (gap == 3) gap += next_number(packed);
    const uint32_t n_repeats = (head & 4) != 0 ? next_number(packed) : 0;
    const uint32_t zigzag = head >> 3;
    const uint32_t step = zigzag >> 1 ^ (0u - (zigzag & 1));
    for (uint32_t i = 0; i <= n_repeats; ++i) {
      pair = {pair.from + gap + 1, pair.to + step};
      pairs_.push_back(pair);
    }
  }
}

char32_t CharacterMap::operator[](char32_t code_point) const {
  const auto pair = std::partition_point(pairs_.begin(), pairs_.end(),
                                         [=](Pair other) { return other.from < code_point; });
  return pair != pairs_.end() && pair->from == code_point ? pair->to : code_point;
}

void append_lower_case(char32_t code_point, std::u32string& out) {
  if (code_point < 0x80) {
    out += code_point >= 'A' && code_point <= 'Z' ? code_point - 'A' + 'a' : code_point;
    return;
  }
  static const CharacterMap lowers(kPackedLowers);
  out += lowers[code_point];
  if (code_point == U'İ') out += U'\u0307';  // the only letter that becomes two
}

void append_without_accents(char32_t code_point, std::u32string& out) {
  if (code_point < 0x80) {
    out += code_point;
    return;
  }
  if (code_point >= kFirstSyllable && code_point <= kLastSyllable) {
    append_letters(code_point, out);
    return;
  }
  static const CharacterMap bases(kPackedBases);
  static const CharacterMap seconds(kPackedSeconds);
  if (is_accent(code_point)) return;
  const char32_t base = bases[code_point];
  if (base == code_point) {
    out += code_point;
    return;
  }
  append_without_accents(base, out);
  const char32_t second = seconds[code_point];
  if (second != code_point) out += second;
}

}  // namespace kinglet
