// A tile of a matrix multiplication over woven rows (see packing.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace kinglet {

// The quantized activations of T tokens.
template <class V, size_t T>
struct Tokens {
  using Code = typename V::Code;
  const Code* codes[T];
  const float* scales[T];
  const int32_t* sums[T];
  const int32_t* half_sums[T];

  Tokens(const Activations& x, size_t token) {
    const size_t n_blocks = x.n_columns / kActivationBlock;
    for (size_t t = 0; t < T; ++t) {
      codes[t] = reinterpret_cast<const Code*>(x.codes) + (token + t) * x.n_columns;
      scales[t] = x.scales + (token + t) * n_blocks;
      sums[t] = x.sums + (token + t) * n_blocks;
      half_sums[t] = x.half_sums + (token + t) * n_blocks * 2;
    }
  }
};

// The products of one group of V::kLanes woven rows with T tokens, which share each weight that is
// unpacked. (Two groups that shared each activation were slower in wasm, and no faster natively.)
template <class V, size_t T>
struct Tile {
  const std::byte* group;
  size_t n_columns;
  Tokens<V, T> x;
  typename V::Float products[T];  // lanes are rows

  Tile(const std::byte* woven, const Activations& activations, size_t token)
      : group(woven), n_columns(activations.n_columns), x(activations, token) {
    for (size_t t = 0; t < T; ++t) products[t] = V::splat(0.0f);
  }
};

}  // namespace kinglet
