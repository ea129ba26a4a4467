// Maps characters to lower case and removes their accents, for comparing texts. Data from Unicode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kinglet {

// Takes a number from the front: seven bits per byte, the lowest bits first, bit 7 set on all bytes
// but the last.
uint32_t next_number(std::span<const uint8_t>& packed);

// A map from code points to code points.
class CharacterMap {
 public:
  // `packed` has one number for each pair (from, to), as next_number() reads it. Its fields, from
  // bit 0:
  // - 2 bits: how many code points lie between the previous `from` and this one. The value 3 means
  //   that a second number follows, to be added to the 3.
  // - 1 bit: whether a last number follows, which says how many more pairs have the same steps.
  // - the rest: the step from the previous `to` to this one, as a zigzag code (2 × step, or
  //   2 × |step| - 1 if the step is negative).
  explicit CharacterMap(std::span<const uint8_t> packed);

  // Returns `code_point` itself if the map has no entry for it.
  char32_t operator[](char32_t code_point) const;

 private:
  struct Pair {
    char32_t from;
    char32_t to;
  };

  std::vector<Pair> pairs_;  // by `from`
};

// These functions prepare texts for BERT's vocabularies. The first use unpacks the tables (32 KB).

// Appends the lower case of `code_point`, whatever its context; other characters stay unchanged.
void append_lower_case(char32_t code_point, std::u32string& out);

// Appends the canonical decomposition (NFD) of a character without its accents (\p{Mn}): "é" gives
// "e", "각" gives three letters. Marks are not put into canonical order.
void append_without_accents(char32_t code_point, std::u32string& out);

// Generated data (unicode_data.cpp).
constexpr size_t kNumBasesBytes = 4143;
constexpr size_t kNumSecondsBytes = 114;
constexpr size_t kNumLowersBytes = 620;
// The first part of a decomposition; if it has three parts, the character for the first two.
extern const uint8_t kPackedBases[kNumBasesBytes];
extern const uint8_t kPackedSeconds[kNumSecondsBytes];  // the part after it
extern const uint8_t kPackedLowers[kNumLowersBytes];

}  // namespace kinglet
