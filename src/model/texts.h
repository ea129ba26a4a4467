// The texts that an encoder computes together. The tokens of a text see each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/scratch.h"

namespace kinglet {

// The rows of one text among the rows of all texts.
struct TextSpan {
  size_t first;
  size_t n_tokens;
};

// The rows of all tokens, one text after the other. The keys and values are those of the layer that
// runs: each layer overwrites those of the layer before it.
struct Texts {
  std::vector<TextSpan> spans;  // one or more, none of them empty
  float* stream = nullptr;      // [hidden_dim]
  float* keys = nullptr;        // [kv_dim]
  float* values = nullptr;      // [kv_dim]
  uint32_t* text_of = nullptr;  // the text of each row
  Angles angles[kRotationTables];

  size_t n_tokens() const { return spans.back().first + spans.back().n_tokens; }
  const TextSpan& span_of(size_t row) const { return spans[text_of[row]]; }
};

}  // namespace kinglet
