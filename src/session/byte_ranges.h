// Converts sets of characters to the sequences of bytes that encode them in UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/utf8.h"

namespace kinglet {

// A range of code points, first << 32 | last, both inclusive. Comparing two of these numbers
// compares the ranges' first code points, then the last ones.
using CodePointRange = uint64_t;

constexpr CodePointRange code_points(char32_t first, char32_t last) {
  return CodePointRange{first} << 32 | last;
}
constexpr char32_t first_of(CodePointRange range) { return static_cast<char32_t>(range >> 32); }
constexpr char32_t last_of(CodePointRange range) {
  return static_cast<char32_t>(range & 0xffffffff);
}

// Returns the characters that are in any of the ranges, or, if `negated`, in none of them, as
// ranges that are sorted and do not overlap.
std::vector<CodePointRange> normalized(std::vector<CodePointRange> ranges, bool negated);

// Returns the first part of a range, as much as one sequence of byte ranges encodes: see below.
CodePointRange first_byte_sequence(CodePointRange range);

// Calls emit(first, last) for each sequence of byte ranges. `first` encodes the first character of
// the sequence and `last` its last one; byte i of the others is any value from first[i] to last[i].
// Together the sequences encode each character of the normalized `ranges` once. Surrogates are left
// out, because UTF-8 cannot encode them. Method: R. Cox, "Regular Expression Matching in the Wild",
// 2010.
template <class Emit>
void for_each_byte_sequence(const std::vector<CodePointRange>& ranges, Emit&& emit) {
  for (CodePointRange rest : ranges) {
    while (first_of(rest) <= last_of(rest)) {
      const CodePointRange sequence = first_byte_sequence(rest);
      const char32_t last = last_of(sequence);
      if (first_of(sequence) < 0xd800 || first_of(sequence) > 0xdfff) {
        std::string first_bytes;
        std::string last_bytes;
        append_utf8(first_bytes, first_of(sequence));
        append_utf8(last_bytes, last);
        emit(first_bytes, last_bytes);
      }
      rest = code_points(last + 1, last_of(rest));
    }
  }
}

}  // namespace kinglet
