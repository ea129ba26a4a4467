// What the layers of a model keep of a sequence.
#pragma once

#include <cstdint>
#include <vector>

namespace kinglet {

// The keys and values of one layer. Layers may differ in all of them.
struct RowShape {
  uint32_t layer;  // whose they are
  uint32_t n_kv_heads;
  uint32_t head_dim;
  uint32_t window = 0;  // positions that a token sees, itself the last of them; 0: all
};

struct StateShape {
  std::vector<RowShape> rows;  // of the layers that have keys and values
  uint64_t n_recurrent = 0;    // floats of all recurrent layers, which are as many at any length

  // Which of `rows` they are.
  uint32_t add_rows(const RowShape& shape) {
    rows.push_back(shape);
    return static_cast<uint32_t>(rows.size() - 1);
  }

  // Which of `rows` are those of a layer that has some.
  uint32_t rows_of(uint32_t layer) const {
    uint32_t i = 0;
    while (rows[i].layer != layer) ++i;
    return i;
  }

  // Where the n floats of a recurrent layer begin.
  uint64_t add_recurrent(uint64_t n) {
    const uint64_t offset = n_recurrent;
    n_recurrent += n;
    return offset;
  }
};

}  // namespace kinglet
