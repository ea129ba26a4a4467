// NEON with products of 8-bit matrices: an instruction multiplies 2 rows of 8 columns by 2 tokens.
#include "kernels/arm/neon_dot.h"
#include "kernels/instruction_sets.h"
#include "kernels/vector/kernels.h"

namespace kinglet {
namespace {

// A single token does not use the matrix products.
struct NeonI8mm : NeonDotVector {
  static constexpr TileTokens kTokens{
      .q4_0 = 8, .q5_0 = 8, .q8_0 = 8, .q4_k = 4, .q6_k = 4, .floats = 4};
};

}  // namespace

// The codes of two tokens side by side, in groups of 8 columns.
template <>
struct PairedCodes<NeonI8mm> {
  int8_t pairs[kActivationBlock / 8][16];

  void put(size_t which, const NeonI8mm::Codes (&steps)[kActivationBlock / 4]) {
    for (size_t i = 0; i < kActivationBlock / 8; ++i) {
      std::memcpy(pairs[i] + which * 8, steps + 2 * i, 8);
    }
  }
};

template <class Sum, size_t N, size_t T>
requires(T % 2 == 0) struct TokenSums<NeonI8mm, Sum, N, T> {
  using V = NeonI8mm;
  // For each pair of tokens: two rows of the first token, then the same rows of the second.
  V::Int rows01[N][T / 2] = {};
  V::Int rows23[N][T / 2] = {};
  V::Bytes even[2 * N];  // for each half of a block: an even step, until the next step comes

  template <size_t Step>
  [[gnu::always_inline]] void add(V::Bytes w, const Tile<V, T>& tile, size_t x_block) {
    V::Bytes& before = even[Step / 4];
    if constexpr (Step % 2 == 0) {
      before = w;
    } else {
      constexpr size_t kBlock = Step / 8;
      const int8x16_t w01 = V::s8(vzip1q_s32(before, w));
      const int8x16_t w23 = V::s8(vzip2q_s32(before, w));
      for (size_t i = 0; i < T / 2; ++i) {
        const auto& pairs = tile.x[2 * i][x_block + kBlock].pairs;
        const int8x16_t x = vld1q_s8(pairs[Step % 8 / 2]);
        rows01[kBlock][i] = vmmlaq_s32(rows01[kBlock][i], x, w01);
        rows23[kBlock][i] = vmmlaq_s32(rows23[kBlock][i], x, w23);
      }
    }
  }
  [[gnu::always_inline]] V::Int total(size_t block, size_t t) const {
    const int64x2_t a = vreinterpretq_s64_s32(rows01[block][t / 2]);
    const int64x2_t b = vreinterpretq_s64_s32(rows23[block][t / 2]);
    return vreinterpretq_s32_s64(t % 2 == 0 ? vzip1q_s64(a, b) : vzip2q_s64(a, b));
  }
};

const KernelSet& neon_i8mm_kernels() {
  static const KernelSet kernels = VectorKernels<NeonI8mm>::kernel_set("neon-i8mm");
  return kernels;
}

}  // namespace kinglet
