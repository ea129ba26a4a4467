// Reads the rows of a cache as attention reads them, and restores them to floats.
#pragma once

#include <cstdint>
#include <vector>

#include "kv/kv_cache.h"

namespace kinglet {

inline std::vector<float> row_at(const KvView& view, const KvHead& head, uint32_t position,
                                 uint32_t head_dim) {
  const KvRows rows = view.rows(head, position);
  std::vector<float> out(head_dim);
  kv_kind_info(head.kind_at(position)).read_row(rows.codes, rows.scales, 0, head_dim, out.data());
  if (head.is_exact_at(position) && kv_kind_info(head.kind).rotates) {
    rotate_blocks(out.data(), head_dim);
  }
  return out;
}

inline std::vector<float> key_at(const KvCache& cache, uint32_t layer, uint32_t position,
                                 uint32_t head) {
  const KvView view = cache.view(layer, head);
  std::vector<float> key =
      row_at(view, view.keys, position, cache.store().layers()[layer].head_dim);
  const bool is_centred = view.centre != nullptr && !view.keys.is_exact_at(position);
  for (size_t i = 0; i < key.size() && is_centred; ++i) key[i] += view.centre[i];
  return key;
}

inline std::vector<float> value_at(const KvCache& cache, uint32_t layer, uint32_t position,
                                   uint32_t head) {
  const KvView view = cache.view(layer, head);
  return row_at(view, view.values, position, cache.store().layers()[layer].head_dim);
}

}  // namespace kinglet
