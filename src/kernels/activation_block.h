// A block of quantized activations, as the kernels of a set read it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace kinglet {

// What V keeps of the codes of two neighbouring tokens together, for instructions that multiply
// with both: nothing, but where V says otherwise.
template <class V>
struct PairedCodes {};

// x[i] ≈ scale * code[i], |code| <= 127, for kActivationBlock numbers, and what products need of
// the codes' sums. A block that holds NaN or infinity has zeros for codes and a scale that is not
// finite, so that every product with it is NaN.
//
// A dot product multiplies 4 codes with the same 4 columns of every row: they, and the other
// numbers, are wanted in every lane. Where loading a number into all lanes costs more than loading
// a vector, a number stands in memory as often as a vector V has room for it. That has a price,
// too: a row's blocks are read again for every few rows of weights, and should stay in the
// first-level cache.
//
// All that belongs to a block stands together, so that a token takes one pointer.
template <class V>
struct ActivationBlock : PairedCodes<V> {
  static constexpr size_t kCopies = V::kCopies;  // of a 32-bit number

  typename V::Codes steps[kActivationBlock / 4];
  float scale[kCopies];
  float scaled_sum[kCopies];      // the sum of the codes, times scale
  int32_t sum[kCopies];           // of the codes
  int32_t half_sums[2][kCopies];  // of 16 codes each

  void set(float new_scale, int32_t first_half_sum, int32_t second_half_sum) {
    std::fill_n(half_sums[0], kCopies, first_half_sum);
    std::fill_n(half_sums[1], kCopies, second_half_sum);
    std::fill_n(sum, kCopies, first_half_sum + second_half_sum);
    std::fill_n(scale, kCopies, new_scale);
    std::fill_n(scaled_sum, kCopies, new_scale * static_cast<float>(sum[0]));
  }
};

// The blocks of a token's row.
template <class V>
ActivationBlock<V>* activation_blocks(const Activations& x, size_t token) {
  return reinterpret_cast<ActivationBlock<V>*>(x.blocks) + token * (x.n_columns / kActivationBlock);
}

}  // namespace kinglet
