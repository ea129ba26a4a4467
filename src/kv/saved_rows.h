// The keys and values of a sequence as bytes: the rows as they are stored, position by position;
// for each layer that has the position and each KV head, the key's codes and scales, then the
// value's (see tensor/kv_kind.h). If keys are centred, the centres [n_kv_heads][head_dim] of each
// layer follow. There is no padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "kv/kv_store.h"
#include "kv/state_shape.h"
#include "tensor/kv_kind.h"

namespace kinglet {

// If no layer of a sequence has a window of its own, all positions are kept.
constexpr uint32_t kAllRows = UINT32_MAX;

struct SavedRows {
  const std::vector<RowShape>& shapes;  // of the model's layers
  KvKind k_kind;
  KvKind v_kind;
  uint32_t n_positions;
  // Layers with a window have the positions that the next token sees, and about n_spare more before
  // these: from first_kept(window, n_positions, n_spare) on. kAllRows: they have all positions.
  uint32_t n_spare;

  // The first position that a layer has.
  uint32_t first_position(const RowShape& shape) const;

  uint64_t position_bytes() const;  // of a position that all layers have, after the exact ones
  uint64_t rows_bytes() const;      // of all rows
  uint64_t bytes() const;           // of everything

  // Whether there are centres: keys are centred from position kExactPositions on.
  bool has_centres() const;

  // Bytes of a layer's rows at a position.
  uint64_t row_bytes(const RowShape& shape, uint32_t position) const;

  // Whether all numbers of rows in this format are finite, as attention relies on.
  bool are_finite(std::span<const std::byte> rows) const;

  // Calls f(layer, position, begin) for the rows of each layer and position: they begin at byte
  // `begin`.
  template <class F>
  void for_each(const F& f) const {
    uint64_t begin = 0;
    for (uint32_t position = 0; position < n_positions; ++position) {
      for (uint32_t layer = 0; layer < shapes.size(); ++layer) {
        if (position < first_position(shapes[layer])) continue;
        f(layer, position, static_cast<size_t>(begin));
        begin += row_bytes(shapes[layer], position);
      }
    }
  }
};

}  // namespace kinglet
