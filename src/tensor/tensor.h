// A tensor as a file stores it: a name, a type, a shape, and a view of bytes that it does not own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/format.h"
#include "tensor/dtype.h"

namespace kinglet {

constexpr size_t kMaxDims = 4;

// Innermost dimension first, as GGUF stores it: {n_columns, n_rows, …}; unused dimensions are 1.
using Shape = std::array<uint64_t, kMaxDims>;

struct TensorView {
  std::string_view name;
  DType type = DType::f32;
  Shape shape = {0, 1, 1, 1};
  std::span<std::byte> bytes;  // exactly as many as type and shape need
  // Where the same rows begin as DTypeInfo::coded, which take more memory: before `bytes`, whose
  // place they take. Null if there is no room for them.
  std::byte* coded = nullptr;

  uint64_t n_columns() const { return shape[0]; }
  uint64_t n_rows() const { return shape[1] * shape[2] * shape[3]; }
};

// Returns the shape as text, without trailing dimensions of 1: "[256, 2048]".
inline std::string shape_text(const Shape& shape) {
  size_t n_dims = kMaxDims;
  while (n_dims > 1 && shape[n_dims - 1] == 1) --n_dims;
  std::string text = cat("[", shape[0]);
  for (size_t i = 1; i < n_dims; ++i) text += cat(", ", shape[i]);
  return text + "]";
}

}  // namespace kinglet
