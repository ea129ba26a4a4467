// A tile of a matrix multiplication over interleaved rows (see packing.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/activation_block.h"
#include "kernels/kernels.h"

namespace kinglet {

// How many tokens a tile has, chosen by measuring for each vector type: for the common weight
// types, for pairs of bits, for floats, for IQ1 to IQ3, and for all other types. 0: panels are used
// instead (see vector/panel_matmul.h), or tables of sums for pairs of bits (see
// vector/table_matmul.h).
struct TileTokens {
  size_t q4_0 = 0;
  size_t q5_0 = 0;
  size_t q8_0 = 0;
  size_t q4_k = 0;
  size_t q5_k = 2;
  size_t q6_k = 0;
  size_t pairs = 0;
  size_t floats;
  size_t codebooks = 4;
  size_t others = 1;  // weights are unpacked again for each token: less code to download
};

// The products of one group of V::kLanes interleaved rows with T tokens. Each weight is unpacked
// once for all T tokens. (Tiles of two groups, which share each loaded activation, were not faster
// natively; in wasm, they need panels.)
template <class V, size_t T>
struct Tile {
  const std::byte* group;
  size_t n_columns;
  const ActivationBlock<V>* x[T];
  typename V::Float products[T];  // lanes are rows

  Tile(const std::byte* interleaved, const Activations& activations, size_t token)
      : group(interleaved), n_columns(activations.n_columns) {
    for (size_t t = 0; t < T; ++t) {
      x[t] = activation_blocks<V>(activations, token + t);
      products[t] = V::splat(0.0f);
    }
  }
};

}  // namespace kinglet
