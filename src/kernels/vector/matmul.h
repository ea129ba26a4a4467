// Matrix multiplication over a vector type V (see vector_type.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/loops.h"
#include "kernels/activation_block.h"
#include "kernels/kernels.h"
#include "kernels/vector/interleaved_dot.h"
#include "kernels/vector/math.h"

namespace kinglet {

template <class V>
struct VectorMatmul {
  using Float = typename V::Float;
  using Int = typename V::Int;
  static constexpr size_t kLanes = V::kLanes;
  static constexpr uint32_t kRows = V::kLanes;  // rows interleaved together: one per 32-bit lane

  // --- Matrices of interleaved rows, quantized activations
  // ---------------------------------------------

  // Computes the products of one group of interleaved rows with T tokens.
  template <class Dot, size_t T>
  static void multiply_tile(const std::byte* group, const Activations& x, size_t token, float* y,
                            size_t y_stride) {
    Tile<V, T> tile(group, x, token);
    Dot::accumulate(tile);
    for (size_t t = 0; t < T; ++t) V::store(y + (token + t) * y_stride, tile.products[t]);
  }

  // Rows per chunk: a tile's tokens stay in the first-level cache for all rows of a chunk, and
  // these rows stay in the second-level cache for all tokens.
  static constexpr size_t kChunkRows = 64;

  template <class Dot, size_t T>
  static void multiply_tiles(const PackedMatrix& w, const Activations& x, size_t token, float* y,
                             size_t y_stride, size_t row_begin, size_t row_end) {
    const size_t row_bytes = dtype_info(w.type).row_bytes(w.n_columns);
    for (size_t row = row_begin; row < row_end; row += kRows) {
      multiply_tile<Dot, T>(w.data + row * row_bytes, x, token, y + row, y_stride);
    }
  }

  // Unpacks weights once for each tile of kTokens tokens, and for one of 4 if at least 4 are left:
  // batches of 4 check guesses (see session/prompt_lookup.h).
  template <class Dot, size_t kTokens>
  static void multiply_interleaved(const PackedMatrix& w, const Activations& x, size_t n_tokens,
                                   float* y, size_t y_stride, size_t row_begin, size_t row_end) {
    multiply_from<Dot, kTokens>(w, x, 0, n_tokens, y, y_stride, row_begin, row_end);
  }

  // Does the same for the tokens from `first` on.
  template <class Dot, size_t kTokens>
  static void multiply_from(const PackedMatrix& w, const Activations& x, size_t first,
                            size_t n_tokens, float* y, size_t y_stride, size_t row_begin,
                            size_t row_end) {
    for (size_t begin = row_begin; begin < row_end; begin += kChunkRows) {
      const size_t end = std::min(begin + kChunkRows, row_end);
      size_t token = first;
      if constexpr (kTokens > 1) {
        for (; token + kTokens <= n_tokens; token += kTokens) {
          multiply_tiles<Dot, kTokens>(w, x, token, y, y_stride, begin, end);
        }
      }
      if constexpr (kTokens > 4) {
        if (token + 4 <= n_tokens) {
          multiply_tiles<Dot, 4>(w, x, token, y, y_stride, begin, end);
          token += 4;
        }
      }
      for (; token < n_tokens; ++token)
        multiply_tiles<Dot, 1>(w, x, token, y, y_stride, begin, end);
    }
  }

  static constexpr float kZeros[kActivationBlock] = {};

  // Rounds codes to nearest, so that |x - scale * code| <= scale / 2 in blocks with nonzero codes.
  static void quantize(const Activations& x, size_t token) {
    constexpr size_t kHalf = kActivationBlock / 2;
    const float* values = x.values + token * x.n_columns;
    ActivationBlock<V>* block = activation_blocks<V>(x, token);
    for (size_t column = 0; column < x.n_columns; column += kActivationBlock) {
      const float amax = VectorMath<V>::largest_magnitude(values, kActivationBlock);
      const Float inverse = V::splat(amax > kSmallestNumber ? 127.0f / amax : 0.0f);
      const float* numbers = std::isfinite(amax) ? values : kZeros;
      Int sums[2] = {V::splat_int(0), V::splat_int(0)};
      for (size_t i = 0; i < kActivationBlock; i += kLanes) {
        const Int rounded = V::to_int(V::mul(V::load(numbers + i), inverse));
        V::store_codes(block->steps[i / 4].codes, rounded);
        sums[i / kHalf] = V::add_int(sums[i / kHalf], rounded);
      }
      block->set(amax / 127.0f, V::horizontal_sum_int(sums[0]), V::horizontal_sum_int(sums[1]));
      if constexpr (!std::is_empty_v<PairedCodes<V>>) {
        // The first token of a pair holds the codes of both; there may be no second token.
        const size_t which = token % 2;
        (block - which * (x.n_columns / kActivationBlock))->put(which, block->steps);
      }
      values += kActivationBlock;
      ++block;
    }
  }

  // --- Matrices of floats, and of any other type by way of floats --------------------------------

  static Float load_weights(const float* w) { return V::load(w); }
  static Float load_weights(const Half* w) { return V::load_half(w); }
  static Float load_weights(const BFloat16* w) {
    return V::as_floats(V::shift_left(V::load_int16(w), 16));
  }
  static float weight(float w) { return w; }
  static float weight(Half w) { return to_float(w); }
  static float weight(BFloat16 w) { return to_float(w); }

  // Multiplies R rows (w_stride elements apart) by T tokens (x_stride floats apart) over n columns
  // and adds the results to y[t][r].
  template <size_t R, size_t T, class Element>
  static void accumulate_tile(const Element* w, size_t w_stride, const float* x, size_t x_stride,
                              size_t n, float* y, size_t y_stride) {
    Float sums[T][R];
    for (auto& of_token : sums) std::fill_n(of_token, R, V::splat(0.0f));
    const size_t n_whole = n / kLanes * kLanes;
    KINGLET_AS_WRITTEN
    for (size_t i = 0; i < n_whole; i += kLanes) {
      Float values[T];
      for (size_t t = 0; t < T; ++t) values[t] = V::load(x + t * x_stride + i);
      for (size_t r = 0; r < R; ++r) {
        const Float weights = load_weights(w + r * w_stride + i);
        for (size_t t = 0; t < T; ++t) sums[t][r] = V::fma(weights, values[t], sums[t][r]);
      }
    }
    for (size_t t = 0; t < T; ++t) {
      float row_sums[R];
      if constexpr (R == 4) {
        V::store_sums(sums[t], row_sums);
      } else {
        for (size_t r = 0; r < R; ++r) row_sums[r] = V::horizontal_sum(sums[t][r]);
      }
      for (size_t r = 0; r < R; ++r) {
        KINGLET_AS_WRITTEN
        for (size_t i = n_whole; i < n; ++i) {
          row_sums[r] += weight(w[r * w_stride + i]) * x[t * x_stride + i];
        }
        y[t * y_stride + r] += row_sums[r];
      }
    }
  }

  // Does the same for any number of tokens, T at a time.
  template <size_t R, size_t T, class Element>
  static void accumulate_rows(const Element* w, size_t w_stride, const float* x, size_t x_stride,
                              size_t n, size_t n_tokens, float* y, size_t y_stride) {
    size_t t = 0;
    for (; t + T <= n_tokens; t += T) {
      accumulate_tile<R, T>(w, w_stride, x + t * x_stride, x_stride, n, y + t * y_stride, y_stride);
    }
    for (; t < n_tokens; ++t) {
      accumulate_tile<R, 1>(w, w_stride, x + t * x_stride, x_stride, n, y + t * y_stride, y_stride);
    }
  }

  static void clear(float* y, size_t y_stride, size_t n_tokens, size_t row_begin, size_t row_end) {
    for (size_t t = 0; t < n_tokens; ++t) {
      std::fill(y + t * y_stride + row_begin, y + t * y_stride + row_end, 0.0f);
    }
  }

  // Multiplies whole rows, T tokens at a time: each tile of tokens is multiplied by all rows while
  // it is in the first-level cache.
  template <size_t T, class Element>
  static void multiply_few_rows(const Element* w, size_t n_rows, size_t n, const float* x,
                                size_t n_tokens, float* y, size_t y_stride) {
    for (size_t token = 0; token < n_tokens; token += T) {
      const size_t n_here = std::min(T, n_tokens - token);
      const float* values = x + token * n;
      float* out = y + token * y_stride;
      size_t row = 0;
      for (; row + 4 <= n_rows; row += 4) {
        accumulate_rows<4, T>(w + row * n, n, values, n, n, n_here, out + row, y_stride);
      }
      for (; row < n_rows; ++row) {
        accumulate_rows<1, T>(w + row * n, n, values, n, n, n_here, out + row, y_stride);
      }
    }
  }

  static constexpr size_t kMostWidened = 8192;  // weights that are widened at a time
  static constexpr size_t kFewTokens = 3;       // up to so many, widening costs more than it saves

  template <class Element>
  static void multiply_floats(const PackedMatrix& w, const Activations& x, size_t n_tokens,
                              float* y, size_t y_stride, size_t row_begin, size_t row_end) {
    clear(y, y_stride, n_tokens, row_begin, row_end);
    const auto* weights = reinterpret_cast<const Element*>(w.data);
    const size_t n = w.n_columns;
    const size_t n_fit = kMostWidened / n / 4 * 4;  // rows that fit into the buffer
    const bool widens = !std::is_same_v<Element, float> && n_tokens > kFewTokens && n_fit > 0;
    const size_t n_together = widens ? n_fit : kChunkRows;
    alignas(64) float widened[kMostWidened];
    for (size_t row = row_begin; row < row_end; row += n_together) {
      const size_t n_rows = std::min(n_together, row_end - row);
      const Element* rows = weights + row * n;
      if (widens) {
        widen(rows, n_rows * n, widened);
        multiply_few_rows<V::kTokens.floats>(widened, n_rows, n, x.values, n_tokens, y + row,
                                             y_stride);
      } else if constexpr (std::is_same_v<Element, float>) {
        multiply_few_rows<V::kTokens.floats>(rows, n_rows, n, x.values, n_tokens, y + row,
                                             y_stride);
      } else {
        multiply_few_rows<2>(rows, n_rows, n, x.values, n_tokens, y + row, y_stride);
      }
    }
  }

  // Converts n weights to floats.
  template <class Element>
  static void widen(const Element* w, size_t n, float* out) {
    const size_t n_whole = n / kLanes * kLanes;
    for (size_t i = 0; i < n_whole; i += kLanes) V::store(out + i, load_weights(w + i));
    for (size_t i = n_whole; i < n; ++i) out[i] = weight(w[i]);
  }

  // Dequantizes a part of a row at a time, once for all tokens.
  static void multiply_dequantized(const PackedMatrix& w, const Activations& x, size_t n_tokens,
                                   float* y, size_t y_stride, size_t row_begin, size_t row_end) {
    constexpr size_t kChunk = 256;  // a multiple of every type's block size
    const DTypeInfo& type = dtype_info(w.type);
    const size_t row_bytes = type.row_bytes(w.n_columns);
    clear(y, y_stride, n_tokens, row_begin, row_end);
    alignas(64) float weights[kChunk];
    for (size_t row = row_begin; row < row_end; ++row) {
      const std::byte* blocks = w.data + row * row_bytes;
      for (size_t column = 0; column < w.n_columns; column += kChunk) {
        const size_t n = std::min(kChunk, w.n_columns - column);
        type.dequantize(blocks, weights, n);
        blocks += type.row_bytes(n);
        accumulate_rows<1, 2>(weights, kChunk, x.values + column, x.n_columns, n, n_tokens, y + row,
                              y_stride);
      }
    }
  }
};

}  // namespace kinglet
