#include "kv/saved_rows.h"

#include <algorithm>
#include <cstring>

#include "base/finite.h"
#include "kv/kv_plan.h"

namespace kinglet {

uint32_t SavedRows::first_position(const RowShape& shape) const {
  return n_spare == kAllRows ? 0 : first_kept(shape.window, n_positions, n_spare);
}

uint64_t SavedRows::position_bytes() const {
  return KvStoreConfig{.rows = shapes, .k_kind = k_kind, .v_kind = v_kind}.bytes_per_position();
}

uint64_t SavedRows::row_bytes(const RowShape& shape, uint32_t position) const {
  return shape.n_kv_heads * (kind_at(kv_kind_info(k_kind), position).row_bytes(shape.head_dim) +
                             kind_at(kv_kind_info(v_kind), position).row_bytes(shape.head_dim));
}

// No sum overflows if the numbers are those of a sequence in memory.
uint64_t SavedRows::rows_bytes() const {
  uint64_t sum = 0;
  for (const RowShape& shape : shapes) {
    const uint32_t first = first_position(shape);
    const uint32_t n_exact =
        std::min(n_positions, kExactPositions) - std::min(first, kExactPositions);
    sum += n_exact * row_bytes(shape, 0);
    sum += (n_positions - first - n_exact) * row_bytes(shape, kExactPositions);
  }
  return sum;
}

bool SavedRows::has_centres() const {
  return kv_kind_info(k_kind).has_integer_codes && n_positions >= kExactPositions;
}

uint64_t SavedRows::bytes() const {
  uint64_t sum = rows_bytes();
  for (const RowShape& shape : shapes) {
    sum += has_centres() ? uint64_t{shape.n_kv_heads} * shape.head_dim * sizeof(float) : 0;
  }
  return sum;
}

namespace {

// Fills `values` and returns the bytes after them. An empty vector has no memory to copy to.
template <class T>
std::span<const std::byte> read_values(std::span<const std::byte> bytes, std::vector<T>& values) {
  const size_t n = values.size() * sizeof(T);
  if (n > 0) std::memcpy(values.data(), bytes.data(), n);
  return bytes.subspan(n);
}

}  // namespace

bool SavedRows::are_finite(std::span<const std::byte> rows) const {
  std::vector<std::byte> codes;
  std::vector<float> scales;
  std::vector<float> numbers;
  const auto next_is_finite = [&](const KvKindInfo& info, uint32_t head_dim) {
    codes.resize(static_cast<size_t>(info.code_bytes(head_dim)));
    scales.resize(static_cast<size_t>(info.n_scales(head_dim)));
    numbers.resize(head_dim);
    rows = read_values(read_values(rows, codes), scales);
    info.read_row(codes.data(), scales.data(), 0, head_dim, numbers.data());
    return all_finite(numbers);
  };
  bool are_finite = true;
  for_each([&](uint32_t layer, uint32_t position, size_t) {
    const RowShape& shape = shapes[layer];
    for (uint32_t head = 0; head < shape.n_kv_heads && are_finite; ++head) {
      are_finite = next_is_finite(kind_at(kv_kind_info(k_kind), position), shape.head_dim) &&
                   next_is_finite(kind_at(kv_kind_info(v_kind), position), shape.head_dim);
    }
  });
  std::vector<float> centres(are_finite ? rows.size() / sizeof(float) : 0);
  read_values(rows, centres);
  return are_finite && all_finite(centres);
}

}  // namespace kinglet
