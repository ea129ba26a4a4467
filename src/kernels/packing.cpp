#include "kernels/packing.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/aligned_buffer.h"
#include "base/format.h"
#include "kernels/code_order.h"

namespace kinglet {
namespace {

constexpr std::array kBlockBytes = table_of_types([](const auto& row) { return row.kBytes; });
constexpr size_t kMaxBlockBytes = *std::max_element(kBlockBytes.begin(), kBlockBytes.end());

// A group of rows before and after interleaving.
struct Group {
  const std::byte* rows;
  std::byte* interleaved;
  size_t n_blocks;  // in a row
  size_t block_bytes;
  size_t interleave;
};

// Interleaves `count` units from byte `begin` of every block. With a constant size, each copy is
// one load and one store.
template <size_t kBytes>
void interleave_units(const Group& group, size_t begin, size_t count) {
  const size_t row_bytes = group.n_blocks * group.block_bytes;
  for (size_t block = 0; block < group.n_blocks; ++block) {
    const size_t offset = block * group.block_bytes + begin;
    const std::byte* unit = group.rows + offset;
    std::byte* interleaved = group.interleaved + offset * group.interleave;
    for (size_t i = 0; i < count; ++i) {
      for (size_t row = 0; row < group.interleave; ++row) {
        std::memcpy(interleaved, unit + row * row_bytes, kBytes);
        interleaved += kBytes;
      }
      unit += kBytes;
    }
  }
}

// Gathers a row's block from the interleaved blocks of its group.
void gather_block(const Units& units, const std::byte* interleaved, std::byte* own, size_t row,
                  size_t interleave) {
  for (const auto [bytes, count] : units) {
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(own, interleaved + (i * interleave + row) * bytes, bytes);
      own += bytes;
    }
    interleaved += size_t{bytes} * count * interleave;
  }
}

size_t blocks_per_row(const PackedMatrix& matrix) {
  return matrix.n_columns / dtype_info(matrix.type).block_size;
}

// Returns the number of rows that are interleaved in groups; the others stay as in the file.
size_t interleaved_rows(const PackedMatrix& matrix) {
  return matrix.n_rows / matrix.interleave * matrix.interleave;
}

// Kernels read four bytes of codes of a row at a time; from planes, they read one.
Units units_of(const PackedMatrix& matrix) {
  Units units = dtype_info(matrix.type).units;
  if (!matrix.in_planes) return units;
  for (auto& [bytes, count] : units) {
    if (bytes == 4) {
      count *= 4;
      bytes = 1;
    }
  }
  return units;
}

// Interleaves a group of rows. Also changes the order of codes in `rows`.
void interleave_rows(std::byte* rows, std::byte* interleaved, const PackedMatrix& matrix) {
  const size_t interleave = matrix.interleave;
  const size_t n_blocks = blocks_per_row(matrix);
  const size_t block_bytes = dtype_info(matrix.type).block_bytes;
  if (const CodeOrder* order = code_order(matrix.type, matrix.in_planes)) {
    for (size_t i = 0; i < interleave * n_blocks; ++i) order->turn(rows + i * block_bytes);
  }
  const Group group{rows, interleaved, n_blocks, block_bytes, interleave};
  size_t begin = 0;
  for (const auto [bytes, count] : units_of(matrix)) {
    if (bytes == 1) interleave_units<1>(group, begin, count);
    if (bytes == 2) interleave_units<2>(group, begin, count);
    if (bytes == 4) interleave_units<4>(group, begin, count);
    begin += size_t{bytes} * count;
  }
}

}  // namespace

PackedMatrix packed_form(const TensorView& tensor, const KernelSet& kernels) {
  PackedMatrix matrix;
  const bool is_coded = tensor.coded != nullptr;
  matrix.data = is_coded ? tensor.coded : tensor.bytes.data();
  matrix.type = is_coded ? dtype_info(tensor.type).coded : tensor.type;
  const MatmulKernel& kernel = matmul_kernel(kernels, matrix.type);
  matrix.interleave = kernel.interleave;
  matrix.in_planes = kernel.activations == ActivationFormat::tables;
  matrix.n_rows = static_cast<size_t>(tensor.n_rows());
  matrix.n_columns = static_cast<size_t>(tensor.n_columns());
  return matrix;
}

size_t packed_group_bytes(const PackedMatrix& matrix) {
  return matrix.interleave * dtype_info(matrix.type).row_bytes(matrix.n_columns);
}

void pack_rows(const PackedMatrix& matrix, const FileRows& rows, size_t begin, size_t end,
               std::byte* room) {
  const DTypeInfo& type = dtype_info(rows.type);
  const bool is_coded = matrix.type != rows.type;
  if (matrix.interleave == 1 && !is_coded) return;
  const size_t row_bytes = dtype_info(matrix.type).row_bytes(matrix.n_columns);
  const std::byte* from = rows.data + begin * type.row_bytes(matrix.n_columns);
  // The bytes belong to the file, whose owner allows writing to them.
  auto* to = const_cast<std::byte*>(matrix.data) + begin * row_bytes;
  const size_t n_interleaved = interleaved_rows(matrix);
  for (size_t row = begin; row < end;) {
    const size_t n = row < n_interleaved ? matrix.interleave : 1;
    if (!is_coded && n == 1) return;  // the rows at the end stay as they are
    if (is_coded) {
      type.encode(from, room, n * matrix.n_columns);
    } else {
      std::memcpy(room, from, n * row_bytes);
    }
    if (n > 1) {
      interleave_rows(room, to, matrix);
    } else {
      std::memcpy(to, room, row_bytes);
    }
    row += n;
    from += n * type.row_bytes(matrix.n_columns);
    to += n * row_bytes;
  }
}

Result<PackedMatrix> pack_in_place(const TensorView& tensor, const KernelSet& kernels) {
  const PackedMatrix matrix = packed_form(tensor, kernels);
  KINGLET_ASSIGN(AlignedBuffer room,
                 AlignedBuffer::allocate(packed_group_bytes(matrix), cat("packing ", tensor.name)));
  pack_rows(matrix, {tensor.bytes.data(), tensor.type}, 0, matrix.n_rows, room.data());
  return matrix;
}

void dequantize_row(const PackedMatrix& matrix, size_t row, float* out) {
  const DTypeInfo& info = dtype_info(matrix.type);
  const size_t n_blocks = blocks_per_row(matrix);
  const size_t row_bytes = n_blocks * info.block_bytes;
  if (matrix.interleave == 1 || row >= interleaved_rows(matrix)) {
    info.dequantize(matrix.data + row * row_bytes, out, matrix.n_columns);
    return;
  }
  const size_t in_group = row % matrix.interleave;
  const std::byte* group = matrix.data + (row - in_group) * row_bytes;
  const Units units = units_of(matrix);
  const CodeOrder* order = code_order(matrix.type, matrix.in_planes);
  alignas(kAlignment) std::byte block[kMaxBlockBytes];
  for (size_t i = 0; i < n_blocks; ++i) {
    const std::byte* interleaved = group + i * matrix.interleave * info.block_bytes;
    gather_block(units, interleaved, block, in_group, matrix.interleave);
    if (order != nullptr) order->turn_back(block);
    info.dequantize(block, out + i * info.block_size, info.block_size);
  }
}

}  // namespace kinglet
