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

// Codes of 5 bits: the low four as in Q4_0, the fifth apart, bit i of a row's word for weight i.
template <class V>
struct DotQ5_0 {
  using Float = typename V::Float;
  using Int = typename V::Int;
  static constexpr size_t kRows = V::kLanes;

  template <size_t T>
  static void dot(const std::byte* group, size_t n_columns, const Tokens<V, T>& x,
                  Float (&result)[T]) {
    for (size_t block = 0; block < n_columns / BlockQ5_0::kSize; ++block) {
      const Float scale = V::load_half(group);
      const auto fifth_bits = V::load_bytes(group + kRows * sizeof(Half));
      const std::byte* codes = group + kRows * (sizeof(Half) + 4);
      // Four steps of codes up to 31 are all that the narrow sums can hold.
      typename V::NibbleDot low[T];
      typename V::NibbleDot high[T];
      const size_t column = block * BlockQ5_0::kSize;
      unit<0>(codes, fifth_bits, column, x, low, high);
      unit<1>(codes, fifth_bits, column, x, low, high);
      unit<2>(codes, fifth_bits, column, x, low, high);
      unit<3>(codes, fifth_bits, column, x, low, high);
      for (size_t t = 0; t < T; ++t) {
        const Int dot = V::add_int(low[t].sum(), high[t].sum());
        const Int sum = V::sub(dot, V::splat_int(16 * x.sums[t][block]));
        const Float scales = V::mul(scale, V::splat(x.scales[t][block]));
        result[t] = V::fma(V::to_float(sum), scales, result[t]);
      }
      group += kRows * sizeof(BlockQ5_0);
    }
  }

 private:
  template <int Unit, size_t T>
  static void unit(const std::byte* codes, typename V::Bytes fifth_bits, size_t column,
                   const Tokens<V, T>& x, typename V::NibbleDot (&low)[T],
                   typename V::NibbleDot (&high)[T]) {
    const auto bytes = V::load_bytes(codes + Unit * kRows * 4);
    const auto low_codes = V::as_unsigned(
        V::bit_or(V::low_nibbles(bytes), V::template spread_bits_to_4<Unit>(fifth_bits)));
    const auto high_codes = V::as_unsigned(
        V::bit_or(V::high_nibbles(bytes), V::template spread_bits_to_4<Unit + 4>(fifth_bits)));
    for (size_t t = 0; t < T; ++t) {
      low[t].add(low_codes, x.codes[t] + column + Unit * 4);
      high[t].add(high_codes, x.codes[t] + column + Unit * 4 + BlockQ5_0::kSize / 2);
    }
  }
};

// Sub-blocks of 32 with a 6-bit scale and a 6-bit minimum: the sum of weights times activations is
// scale · Σ code · x − minimum · Σ x.
template <class V>
struct DotQ4_K {
  using Float = typename V::Float;
  using Int = typename V::Int;
  static constexpr size_t kRows = V::kLanes;
  static constexpr size_t kSubBlock = 32;
  static constexpr size_t kSubBlocks = BlockQ4_K::kSize / kSubBlock;

  template <size_t T>
  static void dot(const std::byte* group, size_t n_columns, const Tokens<V, T>& x,
                  Float (&result)[T]) {
    for (size_t block = 0; block < n_columns / BlockQ4_K::kSize; ++block) {
      const Float scale = V::load_half(group);
      const Float minimum_scale = V::load_half(group + kRows * sizeof(Half));
      const Packed packed(group + kRows * 2 * sizeof(Half));
      const std::byte* nibbles = group + kRows * (2 * sizeof(Half) + sizeof(ScalesAndMinima));
      // A byte holds the codes of two neighbouring sub-blocks.
      for (size_t i = 0; i < kSubBlocks; i += 2) {
        typename V::NibbleDot dots[2][T];
        const size_t column = block * BlockQ4_K::kSize + i * kSubBlock;
        for (size_t unit = 0; unit < kSubBlock / 4; ++unit) {
          const auto bytes = V::load_bytes(nibbles);
          nibbles += kRows * 4;
          const auto low = V::as_unsigned(V::low_nibbles(bytes));
          const auto high = V::as_unsigned(V::high_nibbles(bytes));
          for (size_t t = 0; t < T; ++t) {
            dots[0][t].add(low, x.codes[t] + column + unit * 4);
            dots[1][t].add(high, x.codes[t] + column + kSubBlock + unit * 4);
          }
        }
        for (size_t half = 0; half < 2; ++half) {
          const Float scales = V::mul(scale, V::to_float(packed.scale(i + half)));
          const Float minima = V::mul(minimum_scale, V::to_float(packed.minimum(i + half)));
          const size_t x_block = block * kSubBlocks + i + half;
          for (size_t t = 0; t < T; ++t) {
            const float x_scale = x.scales[t][x_block];
            const float x_sum = x_scale * static_cast<float>(x.sums[t][x_block]);
            const Float dot = V::mul(V::to_float(dots[half][t].sum()), V::splat(x_scale));
            result[t] = V::fma(dot, scales, result[t]);
            result[t] = V::fma(minima, V::splat(-x_sum), result[t]);
          }
        }
      }
      group += kRows * sizeof(BlockQ4_K);
    }
  }

 private:
  // ScalesAndMinima of every row, a word of each: the bits of its members, lane by lane.
  struct Packed {
    typename V::Bytes a;
    typename V::Bytes b;
    typename V::Bytes c;

    explicit Packed(const std::byte* words)
        : a(V::load_bytes(words)),
          b(V::load_bytes(words + kRows * 4)),
          c(V::load_bytes(words + kRows * 8)) {}

    Int scale(size_t i) const {
      return i < 4 ? field(a, 8 * i, 0x3f)
                   : V::bit_or(field(c, 8 * (i - 4), 0x0f), field(a, 8 * (i - 4) + 2, 0x30));
    }
    Int minimum(size_t i) const {
      return i < 4 ? field(b, 8 * i, 0x3f)
                   : V::bit_or(field(c, 8 * (i - 4) + 4, 0x0f), field(b, 8 * (i - 4) + 2, 0x30));
    }
    static Int field(Int word, size_t shift, int32_t mask) {
      return V::bit_and(V::shift_right(word, static_cast<uint32_t>(shift)), V::splat_int(mask));
    }
  };
};

}  // namespace kinglet
