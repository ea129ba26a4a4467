// Any bytes are weights of any type: the same ones every time, also when woven for vector kernels,
// and finite where the block's scales are.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "fuzz/input.h"
#include "kernels/packing.h"

namespace kinglet::fuzz {
namespace {

constexpr size_t kMaxBytes = 4096;
constexpr size_t kMaxRows = 20;

bool is_finite(Half value) { return std::isfinite(to_float(value)); }

template <class Block>
bool has_finite_scales(const std::byte* bytes) {
  Block block;
  std::memcpy(&block, bytes, sizeof block);
  bool finite = true;
  if constexpr (requires { block.scale; }) finite = finite && is_finite(block.scale);
  if constexpr (requires { block.minimum; }) finite = finite && is_finite(block.minimum);
  if constexpr (requires { block.minimum_scale; }) {
    finite = finite && is_finite(block.minimum_scale);
  }
  if constexpr (std::is_same_v<Block, BlockIQ1_M>) {
    unsigned bits = 0;  // a quarter of the scale on top of each word
    for (unsigned i = 0; i < 4; ++i) bits |= (block.scales[i] >> 12 & 0x0fu) << (4 * i);
    finite = is_finite(Half{static_cast<uint16_t>(bits)});
  }
  return finite;
}

struct Finite {
  DType type;
  bool (*has_finite_scales)(const std::byte* block);
};

constexpr Finite kFinite[] = {
    {DType::q4_0, has_finite_scales<BlockQ4_0>},
    {DType::q4_1, has_finite_scales<BlockQ4_1>},
    {DType::q5_0, has_finite_scales<BlockQ5_0>},
    {DType::q5_1, has_finite_scales<BlockQ5_1>},
    {DType::q8_0, has_finite_scales<BlockQ8_0>},
    {DType::q2_k, has_finite_scales<BlockQ2_K>},
    {DType::q3_k, has_finite_scales<BlockQ3_K>},
    {DType::q4_k, has_finite_scales<BlockQ4_K>},
    {DType::q5_k, has_finite_scales<BlockQ5_K>},
    {DType::q6_k, has_finite_scales<BlockQ6_K>},
    {DType::iq4_nl, has_finite_scales<BlockIQ4_NL>},
    {DType::iq4_xs, has_finite_scales<BlockIQ4_XS>},
    {DType::tq1_0, has_finite_scales<BlockTQ1_0>},
    {DType::tq2_0, has_finite_scales<BlockTQ2_0>},
    {DType::iq1_s, has_finite_scales<BlockIQ1_S>},
    {DType::iq1_m, has_finite_scales<BlockIQ1_M>},
    {DType::iq2_xxs, has_finite_scales<BlockIQ2_XXS>},
    {DType::iq2_xs, has_finite_scales<BlockIQ2_XS>},
    {DType::iq2_s, has_finite_scales<BlockIQ2_S>},
    {DType::iq3_xxs, has_finite_scales<BlockIQ3_XXS>},
    {DType::iq3_s, has_finite_scales<BlockIQ3_S>},
};

void check_finite(const DTypeInfo& type, const std::byte* block, const float* weights) {
  for (const Finite& row : kFinite) {
    if (row.type != type.type || !row.has_finite_scales(block)) continue;
    for (size_t i = 0; i < type.block_size; ++i) {
      check(std::isfinite(weights[i]), "finite scales gave a weight that is not");
    }
  }
}

bool same_bits(const float* a, const float* b, size_t n) {
  return std::memcmp(a, b, n * sizeof(float)) == 0;
}

// Rows woven for each kernel set are the same weights.
void check_woven(const DTypeInfo& type, const std::vector<std::byte>& blocks, size_t n_rows,
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
  const size_t n_rows = 1 + input.up_to(kMaxRows - 1);
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
  check_woven(type, blocks, n_rows, n_columns, weights);
}

}  // namespace kinglet::fuzz
