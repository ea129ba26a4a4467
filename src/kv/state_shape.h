// The shape of what the layers of a model keep of a sequence.
#pragma once

#include <cstdint>
#include <vector>

namespace kinglet {

// The keys and values of one layer. Every number may differ between layers.
struct RowShape {
  uint32_t layer;  // index of the layer
  uint32_t n_kv_heads;
  uint32_t head_dim;
  uint32_t window = 0;  // positions that a token sees, itself the last of them; 0: all
};

struct StateShape {
  std::vector<RowShape> rows;  // of the layers that have keys and values
  uint64_t n_recurrent = 0;    // floats of all recurrent layers, the same for any length

  // Adds the rows of a layer; returns their index in `rows`.
  uint32_t add_rows(const RowShape& shape) {
    rows.push_back(shape);
    return static_cast<uint32_t>(rows.size() - 1);
  }

  // Returns the index in `rows` of the rows of a layer, which must have rows.
  uint32_t rows_of(uint32_t layer) const {
    uint32_t i = 0;
    while (rows[i].layer != layer) ++i;
    return i;
  }

  // Adds n floats of a recurrent layer; returns where they begin.
  uint64_t add_recurrent(uint64_t n) {
    const uint64_t offset = n_recurrent;
    n_recurrent += n;
    return offset;
  }
};

}  // namespace kinglet
