// A block of quantized activations, in the layout that a kernel set reads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace kinglet {

// A copy of the codes of two neighbouring tokens side by side, for instructions that multiply with
// both. Empty unless V specializes it.
template <class V>
struct PairedCodes {};

// The codes of kActivationBlock numbers, x[i] ≈ scale * code[i] with |code| <= 127, and the sums of
// codes that products need. If a number is NaN or infinity, all codes are 0 and the scale is not
// finite, so that every product with the block is NaN.
//
// A dot product multiplies 4 codes with the same 4 columns of every row, so every lane needs these
// codes, and the block's other numbers. If V loads a vector faster than it loads one number into
// all lanes, each number is stored as often as it fits into a vector. This has a cost, too: a row's
// blocks are read again for every few rows of weights, and should fit into the first-level cache.
//
// All data of a block is in one place, so that each token needs only one pointer.
template <class V>
struct ActivationBlock : PairedCodes<V> {
  static constexpr size_t kCopies = V::kCopies;  // copies of each 32-bit number

  typename V::Codes steps[kActivationBlock / 4];
  float scale[kCopies];
  float scaled_sum[kCopies];      // the sum of the codes, times scale
  int32_t sum[kCopies];           // the sum of the codes
  int32_t half_sums[2][kCopies];  // the sums of the first and the last 16 codes

  void set(float new_scale, int32_t first_half_sum, int32_t second_half_sum) {
    std::fill_n(half_sums[0], kCopies, first_half_sum);
    std::fill_n(half_sums[1], kCopies, second_half_sum);
    std::fill_n(sum, kCopies, first_half_sum + second_half_sum);
    std::fill_n(scale, kCopies, new_scale);
    std::fill_n(scaled_sum, kCopies, new_scale * static_cast<float>(sum[0]));
  }
};

// Returns the blocks of a token's row.
template <class V>
ActivationBlock<V>* activation_blocks(const Activations& x, size_t token) {
  return reinterpret_cast<ActivationBlock<V>*>(x.blocks) + token * (x.n_columns / kActivationBlock);
}

}  // namespace kinglet
