// Decodes any bytes as weights of any type. The weights are the same every time, also after packing
// for vector kernels, and are finite if the block's scales are.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "fuzz/input.h"
#include "kernels/packing.h"

namespace kinglet::fuzz {
namespace {

constexpr size_t kMaxBytes = 4096;
constexpr size_t kMaxPackedRows = 20;

bool is_finite(Half value) { return std::isfinite(to_float(value)); }

template <class Block>
bool has_finite_scales(const std::byte* bytes) {
  Block block;
  std::memcpy(&block, bytes, sizeof block);
  if constexpr (std::is_same_v<Block, BlockIQ1_M>) return is_finite(block.block_scale());
  bool finite = true;
  if constexpr (requires { is_finite(block.scale); }) finite = finite && is_finite(block.scale);
  if constexpr (requires { block.minimum; }) finite = finite && is_finite(block.minimum);
  if constexpr (requires { block.minimum_scale; }) {
    finite = finite && is_finite(block.minimum_scale);
  }
  return finite;
}

using HasFiniteScales = bool (*)(const std::byte* block);

// Null for floats, and for MXFP4: its largest scale times its largest code overflows a float.
template <DType kId, class Block>
constexpr HasFiniteScales finite_check(const TypeRow<kId, Block>& /*row*/) {
  if constexpr (IsBlock<Block> && kId != DType::mxfp4) {
    return has_finite_scales<Block>;
  } else {
    return nullptr;
  }
}

constexpr std::array kFinite = table_of_types([](const auto& row) { return finite_check(row); });

void check_finite(const DTypeInfo& type, const std::byte* block, const float* weights) {
  const HasFiniteScales has_finite_scales = kFinite[dtype_index(type.type)];
  if (has_finite_scales == nullptr || !has_finite_scales(block)) return;
  for (size_t i = 0; i < type.block_size; ++i) {
    check(std::isfinite(weights[i]), "finite scales gave a weight that is not");
  }
}

bool same_bits(const float* a, const float* b, size_t n) {
  return std::memcmp(a, b, n * sizeof(float)) == 0;
}

// Expects rows that are packed for each kernel set to have the same weights.
void check_interleaved(const DTypeInfo& type, const std::vector<std::byte>& blocks, size_t n_rows,
                       size_t n_columns, const std::vector<float>& weights) {
  for (const KernelSet* kernels : available_kernels()) {
    std::vector<std::byte> bytes = blocks;
    const auto packed = pack_in_place({"w", type.type, {n_columns, n_rows, 1, 1}, bytes}, *kernels);
    check(packed.ok(), "rows cannot be packed");
    std::vector<float> row(n_columns);
    for (size_t r = 0; r < n_rows; ++r) {
      dequantize_row(packed.value(), r, row.data());
      check(same_bits(row.data(), weights.data() + r * n_columns, n_columns),
            "packed rows are other weights");
    }
  }
}

}  // namespace

void dequantize(Bytes bytes) {
  Input input(bytes.first(std::min(bytes.size(), kMaxBytes)));
  const DTypeInfo& type = dtypes()[input.up_to(static_cast<uint32_t>(dtypes().size() - 1))];
  const size_t n_rows = 1 + input.up_to(kMaxPackedRows - 1);
  const Bytes rest = input.rest();
  const size_t n_blocks = (rest.size() / type.block_bytes + n_rows) / n_rows;  // in a row
  std::vector<std::byte> blocks(n_rows * n_blocks * type.block_bytes);
  std::copy_n(std::as_bytes(rest).begin(), std::min(rest.size(), blocks.size()), blocks.begin());

  const size_t n_columns = n_blocks * type.block_size;
  std::vector<float> weights(n_rows * n_columns);
  type.dequantize(blocks.data(), weights.data(), weights.size());
  std::vector<float> block_weights(type.block_size);
  for (size_t i = 0; i < n_rows * n_blocks; ++i) {
    const std::byte* block = blocks.data() + i * type.block_bytes;
    type.dequantize(block, block_weights.data(), type.block_size);
    check(same_bits(block_weights.data(), weights.data() + i * type.block_size, type.block_size),
          "a block by itself is other weights");
    check_finite(type, block, block_weights.data());
  }
  check_interleaved(type, blocks, n_rows, n_columns, weights);
}

}  // namespace kinglet::fuzz
