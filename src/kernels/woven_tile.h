// A tile of a matrix multiplication over woven rows (see packing.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/activation_block.h"
#include "kernels/kernels.h"

namespace kinglet {

// The products of one group of V::kLanes woven rows with T tokens. Each weight is unpacked once for
// all T tokens. (Tiles of two groups, which share each loaded activation, were slower in wasm and
// not faster natively.)
template <class V, size_t T>
struct Tile {
  const std::byte* group;
  size_t n_columns;
  const ActivationBlock<V>* x[T];
  typename V::Float products[T];  // lanes are rows

  Tile(const std::byte* woven, const Activations& activations, size_t token)
      : group(woven), n_columns(activations.n_columns) {
    for (size_t t = 0; t < T; ++t) {
      x[t] = activation_blocks<V>(activations, token + t);
      products[t] = V::splat(0.0f);
    }
  }
};

}  // namespace kinglet
