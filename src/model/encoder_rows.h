// The rows that an encoder computes together: the tokens of texts, or the patches of a picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/rope.h"
#include "model/scratch.h"

namespace kinglet {

// Successive rows that see each other and no others: a text, or a window of a picture.
struct RowSpan {
  size_t first;
  size_t n_rows;

  size_t end() const { return first + n_rows; }
};

// The keys and values are those of the layer that runs: each layer overwrites those of the layer
// before it.
struct EncoderRows {
  std::vector<RowSpan> spans;         // of all rows, in order; none of them is empty
  uint32_t* span_of_row = nullptr;    // the span of each row
  float* stream = nullptr;            // [hidden_dim]
  float* layer_inputs = nullptr;      // [n_layers * layer_input_dim]: see LayerInput
  float* keys = nullptr;              // [kv_dim]
  float* values = nullptr;            // [kv_dim]
  RopePosition* positions = nullptr;  // if rotations have sections; otherwise rows count in a span
  Angles angles[kRotationTables];

  size_t n_rows() const { return spans.empty() ? 0 : spans.back().end(); }
  const RowSpan& span_of(size_t row) const { return spans[span_of_row[row]]; }
};

}  // namespace kinglet
