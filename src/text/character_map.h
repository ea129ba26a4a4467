// What characters become where texts are compared: small letters, without accents. From Unicode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kinglet {

// Code points to code points.
class CharacterMap {
 public:
  // `packed`: a number for each pair, seven bits a byte, the lowest first, with bit 7 on all bytes
  // but the last. In it are, from bit 0 on: how many code points stand between this pair's first
  // and that of the pair before (2 bits; 3 means that the number after says how many more),
  // whether a last number after says how often the same steps follow (1 bit), and how far this
  // pair's second is from that of the pair before, twice as much, or one less than that if
  // negative.
  explicit CharacterMap(std::span<const uint8_t> packed);

  // `code_point` itself where the map has none.
  char32_t operator[](char32_t code_point) const;

 private:
  struct Pair {
    char32_t from;
    char32_t to;
  };

  std::vector<Pair> pairs_;  // by `from`
};

// How a text is prepared for BERT's vocabularies. The tables are unpacked by the first use; 32 KB.

// Appends the small letter of a capital one, whatever is around it, and all else unchanged.
void append_lower_case(char32_t code_point, std::u32string& out);

// Appends the canonical decomposition (NFD) of a character without its accents (\p{Mn}): of "é" an
// e, of "각" three letters. Marks are not put in order.
void append_without_accents(char32_t code_point, std::u32string& out);

// The data, generated (unicode_data.cpp).
constexpr size_t kNumBasesBytes = 4143;
constexpr size_t kNumSecondsBytes = 114;
constexpr size_t kNumLowersBytes = 620;
extern const uint8_t kPackedBases[kNumBasesBytes];  // the first part, or one that has two itself
extern const uint8_t kPackedSeconds[kNumSecondsBytes];  // the part after it
extern const uint8_t kPackedLowers[kNumLowersBytes];

}  // namespace kinglet
