#include "kernels/packing.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/aligned_buffer.h"
#include "base/format.h"

namespace kinglet {
namespace {

constexpr std::array kBlockBytes = table_of_types([](const auto& row) { return row.kBytes; });
constexpr size_t kMaxBlockBytes = *std::max_element(kBlockBytes.begin(), kBlockBytes.end());

// Copies units of a row's own block to their places among those of `interleave` rows. The constant
// sizes let the compiler make each copy one load and one store.
template <size_t kBytes>
void scatter_units(const std::byte* own, std::byte* woven, size_t count, size_t interleave) {
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(woven + i * interleave * kBytes, own + i * kBytes, kBytes);
  }
}
template <size_t kBytes>
void gather_units(const std::byte* woven, std::byte* own, size_t count, size_t interleave) {
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(own + i * kBytes, woven + i * interleave * kBytes, kBytes);
  }
}

// `own` and `woven` are the block of row `row` and the block column of its group.
void scatter_block(const Units& units, const std::byte* own, std::byte* woven, size_t row,
                   size_t interleave) {
  for (const auto [bytes, count] : units) {
    std::byte* to = woven + row * bytes;
    if (bytes == 1) scatter_units<1>(own, to, count, interleave);
    if (bytes == 2) scatter_units<2>(own, to, count, interleave);
    if (bytes == 4) scatter_units<4>(own, to, count, interleave);
    own += size_t{bytes} * count;
    woven += size_t{bytes} * count * interleave;
  }
}
void gather_block(const Units& units, const std::byte* woven, std::byte* own, size_t row,
                  size_t interleave) {
  for (const auto [bytes, count] : units) {
    const std::byte* from = woven + row * bytes;
    if (bytes == 1) gather_units<1>(from, own, count, interleave);
    if (bytes == 2) gather_units<2>(from, own, count, interleave);
    if (bytes == 4) gather_units<4>(from, own, count, interleave);
    own += size_t{bytes} * count;
    woven += size_t{bytes} * count * interleave;
  }
}

// The fifth bits of Q5_0 and Q5_1, bit i for column i, as planes: bit 2 u of byte j for column
// 4 u + j, bit 2 u + 1 for column 16 + 4 u + j. One shift and a mask then give a step its bits.
// Four neighbouring bits spread to, or come from, bit 0 of four bytes by one multiplication.
uint32_t to_planes(uint32_t bits) {
  uint32_t planes = 0;
  for (uint32_t u = 0; u < 4; ++u) {
    const uint32_t low = (bits >> (4 * u) & 0x0f) * 0x00204081 & 0x01010101;
    const uint32_t high = (bits >> (16 + 4 * u) & 0x0f) * 0x00204081 & 0x01010101;
    planes |= low << (2 * u) | high << (2 * u + 1);
  }
  return planes;
}
uint32_t from_planes(uint32_t planes) {
  uint32_t bits = 0;
  for (uint32_t u = 0; u < 4; ++u) {
    const uint32_t low = (planes >> (2 * u) & 0x01010101) * 0x01020408 >> 24 & 0x0f;
    const uint32_t high = (planes >> (2 * u + 1) & 0x01010101) * 0x01020408 >> 24 & 0x0f;
    bits |= low << (4 * u) | high << (16 + 4 * u);
  }
  return bits;
}

// Replaces the fifth bits of a block by f(bits).
template <class F>
void map_fifth_bits(DType type, std::byte* block, F f) {
  if (type != DType::q5_0 && type != DType::q5_1) return;
  std::byte* at = block + (type == DType::q5_0 ? offsetof(BlockQ5_0, high_bits)
                                               : offsetof(BlockQ5_1, high_bits));
  uint32_t bits;
  std::memcpy(&bits, at, sizeof bits);
  bits = f(bits);
  std::memcpy(at, &bits, sizeof bits);
}

size_t blocks_per_row(const PackedMatrix& matrix) {
  return matrix.n_columns / dtype_info(matrix.type).block_size;
}

// The rows that are woven in groups; the rest stand as in the file.
size_t woven_rows(const PackedMatrix& matrix) {
  return matrix.n_rows / matrix.interleave * matrix.interleave;
}

// `rows` is left with its fifth bits in planes.
void weave(std::byte* rows, std::byte* woven, const DTypeInfo& type, size_t interleave,
           size_t n_blocks) {
  const size_t block_bytes = type.block_bytes;
  for (size_t row = 0; row < interleave; ++row) {
    for (size_t i = 0; i < n_blocks; ++i) {
      std::byte* block = rows + (row * n_blocks + i) * block_bytes;
      map_fifth_bits(type.type, block, to_planes);
      scatter_block(type.units, block, woven + i * interleave * block_bytes, row, interleave);
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
  const DTypeInfo& info = dtype_info(matrix.type);
  const size_t group_bytes = matrix.interleave * n_blocks * info.block_bytes;
  KINGLET_ASSIGN(AlignedBuffer rows,
                 AlignedBuffer::allocate(group_bytes, cat("packing ", tensor.name)));
  std::byte* group = tensor.bytes.data();
  for (size_t row = 0; row < woven_rows(matrix); row += matrix.interleave) {
    std::memcpy(rows.data(), group, group_bytes);
    weave(rows.data(), group, info, matrix.interleave, n_blocks);
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
  alignas(kAlignment) std::byte block[kMaxBlockBytes];
  for (size_t i = 0; i < n_blocks; ++i) {
    const std::byte* woven = group + i * matrix.interleave * info.block_bytes;
    gather_block(info.units, woven, block, in_group, matrix.interleave);
    map_fifth_bits(matrix.type, block, from_planes);
    info.dequantize(block, out + i * info.block_size, info.block_size);
  }
}

}  // namespace kinglet
