#include "kernels/packing.h"

#include <array>
#include <cstring>
#include <span>

#include "base/aligned_buffer.h"
#include "base/format.h"

namespace kinglet {
namespace {

// `count` units of `bytes` each.
struct UnitRun {
  size_t bytes;
  size_t count;
};

constexpr std::array kUnitsQ4_0 = {
    UnitRun{sizeof(BlockQ4_0::scale), 1},
    UnitRun{4, sizeof(BlockQ4_0::codes) / 4},
};
constexpr std::array kUnitsQ8_0 = {
    UnitRun{sizeof(BlockQ8_0::scale), 1},
    UnitRun{4, sizeof(BlockQ8_0::codes) / 4},
};
constexpr std::array kUnitsQ6_K = {
    UnitRun{4, sizeof(BlockQ6_K::low_nibbles) / 4},
    UnitRun{4, sizeof(BlockQ6_K::high_pairs) / 4},
    UnitRun{1, sizeof(BlockQ6_K::scales)},
    UnitRun{sizeof(BlockQ6_K::scale), 1},
};

constexpr std::array kUnitsQ5_0 = {
    UnitRun{sizeof(BlockQ5_0::scale), 1},
    UnitRun{sizeof(BlockQ5_0::high_bits), 1},
    UnitRun{4, sizeof(BlockQ5_0::codes) / 4},
};
constexpr std::array kUnitsQ4_K = {
    UnitRun{sizeof(BlockQ4_K::scale), 1},
    UnitRun{sizeof(BlockQ4_K::minimum_scale), 1},
    UnitRun{4, sizeof(BlockQ4_K::scales) / 4},
    UnitRun{4, sizeof(BlockQ4_K::nibbles) / 4},
};
constexpr size_t kMaxWovenBlockBytes = sizeof(BlockQ6_K);

// How the blocks of an interleaved type are cut; empty for types that are never interleaved.
std::span<const UnitRun> units_of(DType type) {
  switch (type) {
    case DType::q4_0:
      return kUnitsQ4_0;
    case DType::q8_0:
      return kUnitsQ8_0;
    case DType::q5_0:
      return kUnitsQ5_0;
    case DType::q4_k:
      return kUnitsQ4_K;
    case DType::q6_k:
      return kUnitsQ6_K;
    default:
      return {};
  }
}

// Calls f(offset in the woven blocks, offset in the row's own block, bytes) for each unit of row
// `row` in a column of `interleave` blocks.
template <class F>
void for_each_unit(DType type, size_t interleave, size_t row, F f) {
  size_t woven = 0;
  size_t own = 0;
  for (const UnitRun& run : units_of(type)) {
    for (size_t i = 0; i < run.count; ++i) {
      f(woven + row * run.bytes, own, run.bytes);
      woven += interleave * run.bytes;
      own += run.bytes;
    }
  }
}

size_t blocks_per_row(const PackedMatrix& matrix) {
  return matrix.n_columns / dtype_info(matrix.type).block_size;
}

// The rows that are woven in groups; the rest stand as in the file.
size_t woven_rows(const PackedMatrix& matrix) {
  return matrix.n_rows / matrix.interleave * matrix.interleave;
}

void weave(const std::byte* rows, std::byte* woven, DType type, size_t interleave,
           size_t n_blocks) {
  const size_t block_bytes = dtype_info(type).block_bytes;
  for (size_t row = 0; row < interleave; ++row) {
    for (size_t block = 0; block < n_blocks; ++block) {
      const std::byte* from = rows + (row * n_blocks + block) * block_bytes;
      std::byte* to = woven + block * interleave * block_bytes;
      for_each_unit(type, interleave, row, [&](size_t to_offset, size_t from_offset, size_t n) {
        std::memcpy(to + to_offset, from + from_offset, n);
      });
    }
  }
}

}  // namespace

Result<PackedMatrix> pack_in_place(const TensorView& tensor, const KernelSet& kernels) {
  PackedMatrix matrix;
  matrix.data = tensor.bytes.data();
  matrix.type = tensor.type;
  matrix.interleave = matmul_kernel(kernels, tensor.type).interleave;
  matrix.n_rows = static_cast<size_t>(tensor.n_rows());
  matrix.n_columns = static_cast<size_t>(tensor.n_columns());
  if (matrix.interleave == 1) return matrix;

  const size_t n_blocks = blocks_per_row(matrix);
  const size_t group_bytes = matrix.interleave * n_blocks * dtype_info(matrix.type).block_bytes;
  KINGLET_ASSIGN(AlignedBuffer rows,
                 AlignedBuffer::allocate(group_bytes, cat("packing ", tensor.name)));
  std::byte* group = tensor.bytes.data();
  for (size_t row = 0; row < woven_rows(matrix); row += matrix.interleave) {
    std::memcpy(rows.data(), group, group_bytes);
    weave(rows.data(), group, matrix.type, matrix.interleave, n_blocks);
    group += group_bytes;
  }
  return matrix;
}

void dequantize_row(const PackedMatrix& matrix, size_t row, float* out) {
  const DTypeInfo& info = dtype_info(matrix.type);
  const size_t n_blocks = blocks_per_row(matrix);
  const size_t row_bytes = n_blocks * info.block_bytes;
  if (matrix.interleave == 1 || row >= woven_rows(matrix)) {
    info.dequantize(matrix.data + row * row_bytes, out, matrix.n_columns);
    return;
  }
  const size_t in_group = row % matrix.interleave;
  const std::byte* group = matrix.data + (row - in_group) * row_bytes;
  alignas(kAlignment) std::byte block[kMaxWovenBlockBytes];
  for (size_t i = 0; i < n_blocks; ++i) {
    const std::byte* woven = group + i * matrix.interleave * info.block_bytes;
    for_each_unit(matrix.type, matrix.interleave, in_group,
                  [&](size_t from_offset, size_t to_offset, size_t n) {
                    std::memcpy(block + to_offset, woven + from_offset, n);
                  });
    info.dequantize(block, out + i * info.block_size, info.block_size);
  }
}

}  // namespace kinglet
