// Whole texts whose tokens see each other: what an encoder computes together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/scratch.h"

namespace kinglet {

// A text's rows among those of all texts.
struct TextSpan {
  size_t first;
  size_t n_tokens;
};

// Rows of all tokens, one text after the other. The keys and values are those of the layer that
// runs: each writes over those of the one before it.
struct Texts {
  std::vector<TextSpan> spans;  // one or more, none of them empty
  float* stream = nullptr;      // [hidden_dim]
  float* keys = nullptr;        // [kv_dim]
  float* values = nullptr;      // [kv_dim]
  uint32_t* text_of = nullptr;  // which text a row is of
  Angles angles[kRotationTables];

  size_t n_tokens() const { return spans.back().first + spans.back().n_tokens; }
  const TextSpan& span_of(size_t row) const { return spans[text_of[row]]; }
};

}  // namespace kinglet
