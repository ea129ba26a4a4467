// Converts sets of characters to the sequences of bytes that encode them in UTF-8.
#pragma once

#include <string>

#include "base/utf8.h"
#include "grammar/character_set.h"

namespace kinglet {

// Returns the first part of a range, as much as one sequence of byte ranges encodes: see below.
CodePoints first_byte_sequence(CodePoints range);

// Calls emit(first, last) for each sequence of byte ranges. `first` encodes the first character of
// the sequence and `last` its last one; byte i of the others is any value from first[i] to last[i].
// Together the sequences encode each character of the set, whose ranges are in order, once.
// Surrogates are left out, because UTF-8 cannot encode them. Method: R. Cox, "Regular Expression
// Matching in the Wild", 2010.
template <class Emit>
void for_each_byte_sequence(const CharacterSet& set, Emit&& emit) {
  for (CodePoints rest : set) {
    while (rest.first <= rest.last) {
      const auto [first, last] = first_byte_sequence(rest);
      if (first < 0xd800 || first > 0xdfff) {
        std::string first_bytes;
        std::string last_bytes;
        append_utf8(first_bytes, first);
        append_utf8(last_bytes, last);
        emit(first_bytes, last_bytes);
      }
      rest.first = last + 1;
    }
  }
}

}  // namespace kinglet
