// Dot products of woven rows (see packing.h) with quantized activations, one struct per format.
//
// Each computes a group of V::kLanes rows for T tokens at once and adds the products onto
// result[t], whose lanes are the rows. V is described in vector_kernels.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "tensor/dtype.h"

namespace kinglet {

// The quantized activations of T tokens, from one column on.
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

template <class V>
struct DotQ4_0 {
  using Float = typename V::Float;
  using Int = typename V::Int;
  static constexpr size_t kRows = V::kLanes;

  template <size_t T>
  static void dot(const std::byte* group, size_t n_columns, const Tokens<V, T>& x,
                  Float (&result)[T]) {
    for (size_t block = 0; block < n_columns / BlockQ4_0::kSize; ++block) {
      const Float scale = V::load_half(group);
      group += kRows * sizeof(Half);
      typename V::NibbleDot dots[T];
      for (size_t unit = 0; unit < 4; ++unit) {
        const auto bytes = V::load_bytes(group);
        group += kRows * 4;
        const auto low = V::as_unsigned(V::low_nibbles(bytes));
        const auto high = V::as_unsigned(V::high_nibbles(bytes));
        const size_t column = block * BlockQ4_0::kSize + unit * 4;
        for (size_t t = 0; t < T; ++t) {
          dots[t].add(low, x.codes[t] + column);
          dots[t].add(high, x.codes[t] + column + BlockQ4_0::kSize / 2);
        }
      }
      for (size_t t = 0; t < T; ++t) {
        const Int sum = V::sub(dots[t].sum(), V::splat_int(8 * x.sums[t][block]));
        const Float scales = V::mul(scale, V::splat(x.scales[t][block]));
        result[t] = V::fma(V::to_float(sum), scales, result[t]);
      }
    }
  }
};

template <class V>
struct DotQ8_0 {
  using Float = typename V::Float;
  using Int = typename V::Int;
  static constexpr size_t kRows = V::kLanes;

  template <size_t T>
  static void dot(const std::byte* group, size_t n_columns, const Tokens<V, T>& x,
                  Float (&result)[T]) {
    for (size_t block = 0; block < n_columns / BlockQ8_0::kSize; ++block) {
      const Float scale = V::load_half(group);
      group += kRows * sizeof(Half);
      typename V::SignedDot dots[T];
      for (size_t unit = 0; unit < 8; ++unit) {
        const auto weights = V::as_signed(V::load_bytes(group));
        group += kRows * 4;
        const size_t column = block * BlockQ8_0::kSize + unit * 4;
        for (size_t t = 0; t < T; ++t) dots[t].add(weights, x.codes[t] + column);
      }
      for (size_t t = 0; t < T; ++t) {
        const Float scales = V::mul(scale, V::splat(x.scales[t][block]));
        result[t] = V::fma(V::to_float(dots[t].sum(x.sums[t][block])), scales, result[t]);
      }
    }
  }
};

template <class V>
struct DotQ6_K {
  using Float = typename V::Float;
  using Int = typename V::Int;
  static constexpr size_t kRows = V::kLanes;

  template <size_t T>
  static void dot(const std::byte* group, size_t n_columns, const Tokens<V, T>& x,
                  Float (&result)[T]) {
    for (size_t column = 0; column < n_columns; column += BlockQ6_K::kSize) {
      const std::byte* low = group;
      const std::byte* high = low + kRows * sizeof(BlockQ6_K::low_nibbles);
      const std::byte* scales = high + kRows * sizeof(BlockQ6_K::high_pairs);
      const Float scale = V::load_half(scales + kRows * sizeof(BlockQ6_K::scales));
      for (size_t half = 0; half < 2; ++half) {
        const std::byte* low_half = low + half * kRows * 64;
        const std::byte* high_half = high + half * kRows * 32;
        const std::byte* scales_half = scales + half * kRows * 8;
        const size_t start = column + half * 128;
        quarter<T, 0>(low_half, high_half, scales_half, scale, start, x, result);
        quarter<T, 1>(low_half, high_half, scales_half, scale, start, x, result);
        quarter<T, 2>(low_half, high_half, scales_half, scale, start, x, result);
        quarter<T, 3>(low_half, high_half, scales_half, scale, start, x, result);
      }
      group += kRows * sizeof(BlockQ6_K);
    }
  }

 private:
  // Weights 32 Q … 32 Q + 31 of half a block, which begins at column `start`.
  template <size_t T, int Q>
  static void quarter(const std::byte* low, const std::byte* high, const std::byte* scales,
                      Float scale, size_t start, const Tokens<V, T>& x, Float (&result)[T]) {
    const size_t column = start + 32 * Q;
    Int sums[T];
    for (size_t t = 0; t < T; ++t) sums[t] = V::splat_int(0);
    for (size_t half = 0; half < 2; ++half) {
      typename V::UnsignedDot dots[T];
      for (size_t unit = half * 4; unit < half * 4 + 4; ++unit) {
        const auto nibbles = V::load_bytes(low + kRows * 4 * (unit + (Q % 2) * 8));
        const auto pairs = V::load_bytes(high + kRows * 4 * unit);
        const auto codes =
            V::as_unsigned(V::bit_or(Q < 2 ? V::low_nibbles(nibbles) : V::high_nibbles(nibbles),
                                     V::template bit_pairs_at_4<Q>(pairs)));
        for (size_t t = 0; t < T; ++t) dots[t].add(codes, x.codes[t] + column + unit * 4);
      }
      const Int block_scale = V::load_int8(scales + kRows * (2 * Q + half));
      for (size_t t = 0; t < T; ++t) {
        const int32_t sum = x.half_sums[t][column / 16 + half];
        const Int dot = V::sub(dots[t].sum(), V::splat_int(32 * sum));
        sums[t] = V::add_int(sums[t], V::mul_int(dot, block_scale));
      }
    }
    for (size_t t = 0; t < T; ++t) {
      const Float scales_t = V::mul(scale, V::splat(x.scales[t][column / 32]));
      result[t] = V::fma(V::to_float(sums[t]), scales_t, result[t]);
    }
  }
};

}  // namespace kinglet
