#include "kernels/packing.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "base/aligned_buffer.h"
#include "base/format.h"

namespace kinglet {
namespace {

constexpr std::array kBlockBytes = table_of_types([](const auto& row) { return row.kBytes; });
constexpr size_t kMaxBlockBytes = *std::max_element(kBlockBytes.begin(), kBlockBytes.end());

// Copy units between a row's own block and the woven blocks of `interleave` rows. With constant
// sizes, the compiler makes each copy one load and one store.
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

// `own` is a block of row `row`, `woven` the woven blocks of its group.
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

// Converts the fifth bits of Q5_0 and Q5_1 (bit i for column i) to planes: bit 2 u of byte j for
// column 4 u + j, bit 2 u + 1 for column 16 + 4 u + j. Then a step gets its bits with one shift and
// a mask. One multiplication moves four neighbouring bits to bit 0 of four bytes, or back.
uint64_t to_planes(uint64_t bits) {
  uint64_t planes = 0;
  for (uint32_t u = 0; u < 4; ++u) {
    const uint64_t low = (bits >> (4 * u) & 0x0f) * 0x00204081 & 0x01010101;
    const uint64_t high = (bits >> (16 + 4 * u) & 0x0f) * 0x00204081 & 0x01010101;
    planes |= low << (2 * u) | high << (2 * u + 1);
  }
  return planes;
}
uint64_t from_planes(uint64_t planes) {
  uint64_t bits = 0;
  for (uint32_t u = 0; u < 4; ++u) {
    const uint64_t low = (planes >> (2 * u) & 0x01010101) * 0x01020408 >> 24 & 0x0f;
    const uint64_t high = (planes >> (2 * u + 1) & 0x01010101) * 0x01020408 >> 24 & 0x0f;
    bits |= low << (4 * u) | high << (16 + 4 * u);
  }
  return bits;
}

// Splits bit pairs into the low bits of all pairs, followed by their high bits.
uint64_t split_pairs(uint64_t pairs) {
  const auto gather = [](uint64_t bits) {  // every other bit
    bits &= 0x5555555555555555;
    bits = (bits | bits >> 1) & 0x3333333333333333;
    bits = (bits | bits >> 2) & 0x0f0f0f0f0f0f0f0f;
    bits = (bits | bits >> 4) & 0x00ff00ff00ff00ff;
    bits = (bits | bits >> 8) & 0x0000ffff0000ffff;
    return (bits | bits >> 16) & 0x00000000ffffffff;
  };
  return gather(pairs) | gather(pairs >> 1) << 32;
}
uint64_t join_pairs(uint64_t planes) {
  const auto scatter = [](uint64_t bits) {
    bits = (bits | bits << 16) & 0x0000ffff0000ffff;
    bits = (bits | bits << 8) & 0x00ff00ff00ff00ff;
    bits = (bits | bits << 4) & 0x0f0f0f0f0f0f0f0f;
    bits = (bits | bits << 2) & 0x3333333333333333;
    return (bits | bits << 1) & 0x5555555555555555;
  };
  return scatter(planes & 0xffffffff) | scatter(planes >> 32) << 1;
}

// Swaps bit j of byte i with bit i of byte j. The bit pairs of 8 columns, one in each byte, become
// planes.
uint64_t transpose(uint64_t bits) {
  const auto swap = [&bits](uint64_t mask, int distance) {
    const uint64_t difference = (bits >> distance ^ bits) & mask;
    bits ^= difference ^ difference << distance;
  };
  swap(0x00aa00aa00aa00aa, 7);
  swap(0x0000cccc0000cccc, 14);
  swap(0x00000000f0f0f0f0, 28);
  return bits;
}

// Converts the last eight codes of PTQ1_0 from base 3 (see BlockPTQ1_0) to bit pairs in the order
// of columns.
uint64_t to_pairs(uint64_t fours) {
  uint64_t pairs = 0;
  for (uint32_t i = 0; i < 8; ++i) {
    constexpr uint32_t kPowers[] = {1, 3, 9, 27};
    const uint64_t fraction = (fours >> (i % 2 * 8) & 0xff) * kPowers[i / 2] & 0xff;
    pairs |= (fraction * 3 >> 8) << (2 * i);
  }
  return pairs;
}
uint64_t from_pairs(uint64_t pairs) {
  uint64_t fours = 0;
  for (uint32_t byte = 0; byte < 2; ++byte) {
    uint64_t digits = 0;
    for (uint32_t i = byte; i < 8; i += 2) digits = digits * 3 + (pairs >> (2 * i) & 3);
    // The byte is digits / 3^4 as a fraction, rounded up.
    fours |= (digits * 256 + 80) / 81 << (8 * byte);
  }
  return fours;
}

// A type whose bits kernels read in another order than in the file. `turn` converts each word in
// bytes [begin, end) of a block.
struct BitOrder {
  DType type;
  size_t begin;
  size_t end;
  size_t word_bytes;
  uint64_t (*turn)(uint64_t word);
  uint64_t (*turn_back)(uint64_t word);
};
constexpr BitOrder kBitOrders[] = {
    {DType::q5_0, 2, 6, 4, to_planes, from_planes},
    {DType::q5_1, 4, 8, 4, to_planes, from_planes},
    {DType::tq2_0, 0, 64, 8, transpose, transpose},
    {DType::q2_0, 2, 18, 8, split_pairs, join_pairs},
    {DType::pq2_0, 2, 34, 8, split_pairs, join_pairs},
    {DType::ptq1_0, 24, 26, 2, to_pairs, from_pairs},
};

const BitOrder* bit_order(DType type) {
  const auto* order = std::find_if(std::begin(kBitOrders), std::end(kBitOrders),
                                   [type](const BitOrder& o) { return o.type == type; });
  return order == std::end(kBitOrders) ? nullptr : order;
}

void turn_bits(const BitOrder& order, uint64_t (*turn)(uint64_t), std::byte* block) {
  for (size_t i = order.begin; i < order.end; i += order.word_bytes) {
    uint64_t word = 0;
    std::memcpy(&word, block + i, order.word_bytes);
    word = turn(word);
    std::memcpy(block + i, &word, order.word_bytes);
  }
}

size_t blocks_per_row(const PackedMatrix& matrix) {
  return matrix.n_columns / dtype_info(matrix.type).block_size;
}

// Returns the number of rows that are woven in groups; the others stay as in the file.
size_t woven_rows(const PackedMatrix& matrix) {
  return matrix.n_rows / matrix.interleave * matrix.interleave;
}

// Weaves a group of rows. Also changes the order of bits in `rows`.
void weave(std::byte* rows, std::byte* woven, const DTypeInfo& type, size_t interleave,
           size_t n_blocks) {
  const size_t block_bytes = type.block_bytes;
  const BitOrder* order = bit_order(type.type);
  for (size_t row = 0; row < interleave; ++row) {
    for (size_t i = 0; i < n_blocks; ++i) {
      std::byte* block = rows + (row * n_blocks + i) * block_bytes;
      if (order != nullptr) turn_bits(*order, order->turn, block);
      scatter_block(type.units, block, woven + i * interleave * block_bytes, row, interleave);
    }
  }
}

}  // namespace

PackedMatrix packed_form(const TensorView& tensor, const KernelSet& kernels) {
  PackedMatrix matrix;
  matrix.data = tensor.bytes.data();
  matrix.type = tensor.type;
  matrix.interleave = matmul_kernel(kernels, tensor.type).interleave;
  matrix.n_rows = static_cast<size_t>(tensor.n_rows());
  matrix.n_columns = static_cast<size_t>(tensor.n_columns());
  return matrix;
}

size_t packed_group_bytes(const PackedMatrix& matrix) {
  if (matrix.interleave == 1) return 0;
  return matrix.interleave * dtype_info(matrix.type).row_bytes(matrix.n_columns);
}

void pack_rows(const PackedMatrix& matrix, size_t begin, size_t end, std::byte* room) {
  if (matrix.interleave == 1) return;
  const DTypeInfo& info = dtype_info(matrix.type);
  const size_t group_bytes = packed_group_bytes(matrix);
  // The bytes belong to the file, whose owner allows writing to them.
  auto* group = const_cast<std::byte*>(matrix.data) + begin / matrix.interleave * group_bytes;
  end = std::min(end, woven_rows(matrix));
  for (size_t row = begin; row < end; row += matrix.interleave) {
    std::memcpy(room, group, group_bytes);
    weave(room, group, info, matrix.interleave, blocks_per_row(matrix));
    group += group_bytes;
  }
}

Result<PackedMatrix> pack_in_place(const TensorView& tensor, const KernelSet& kernels) {
  const PackedMatrix matrix = packed_form(tensor, kernels);
  KINGLET_ASSIGN(AlignedBuffer room,
                 AlignedBuffer::allocate(packed_group_bytes(matrix), cat("packing ", tensor.name)));
  pack_rows(matrix, 0, matrix.n_rows, room.data());
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
  const BitOrder* order = bit_order(matrix.type);
  alignas(kAlignment) std::byte block[kMaxBlockBytes];
  for (size_t i = 0; i < n_blocks; ++i) {
    const std::byte* woven = group + i * matrix.interleave * info.block_bytes;
    gather_block(info.units, woven, block, in_group, matrix.interleave);
    if (order != nullptr) turn_bits(*order, order->turn_back, block);
    info.dequantize(block, out + i * info.block_size, info.block_size);
  }
}

}  // namespace kinglet
