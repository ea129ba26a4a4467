// What the layers of a model keep of a sequence.
#pragma once

#include <cstdint>
#include <vector>

namespace kinglet {

// The keys and values of one layer.
struct RowShape {
  uint32_t layer;  // whose they are
  uint32_t n_kv_heads;
  uint32_t head_dim;
};

struct StateShape {
  std::vector<RowShape> rows;  // of the layers that have keys and values

  // Which of `rows` the layer's are.
  uint32_t add_rows(uint32_t layer, uint32_t n_kv_heads, uint32_t head_dim) {
    rows.push_back({layer, n_kv_heads, head_dim});
    return static_cast<uint32_t>(rows.size() - 1);
  }
};

}  // namespace kinglet
