// Every vectorized kernel, once, over a vector type V that one instruction-set file defines.
//
// V lives in that file's anonymous namespace, so each instantiation is private to the only
// translation unit built with its flags. V provides
//   Float, Int        vectors of kLanes floats and 32-bit integers, with load, store, splat, add,
//                     sub, mul, fma (a * b + c), max, to_int (rounds to nearest), to_float
//   Code              the integer that quantized activations are stored as
//   Bytes             4 bytes of each of kLanes rows, as the packed layout has them
//   Unsigned, Signed  codes made ready for dot products with activations
//   NibbleDot         sums at most 8 steps of codes 0..15, or 4 of codes 0..31; may overflow past
//   that UnsignedDot       sums any number of steps of codes 0..127 SignedDot         sums any
//   number of steps of codes -127..127
// where a step multiplies 4 codes of every row with the same 4 activations.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/exponential.h"
#include "kernels/kernels.h"
#include "kernels/woven_dot.h"

namespace kinglet {

template <class V>
struct VectorKernels {
  using Float = typename V::Float;
  using Int = typename V::Int;
  using Code = typename V::Code;
  static constexpr size_t kLanes = V::kLanes;
  static constexpr uint32_t kRows = V::kLanes;  // rows woven together: one per 32-bit lane

  // --- Matrices of woven rows, quantized activations ---------------------------------------------

  template <class Format, size_t T>
  static void multiply_group(const std::byte* group, const Activations& x, size_t token, float* y,
                             size_t y_stride) {
    Float result[T];
    for (size_t t = 0; t < T; ++t) result[t] = V::splat(0.0f);
    Format::template dot<T>(group, x.n_columns, Tokens<V, T>(x, token), result);
    for (size_t t = 0; t < T; ++t) V::store(y + (token + t) * y_stride, result[t]);
  }

  // Weights are read once for each tile of tokens, from the first-level cache after the first.
  template <class Format>
  static void multiply_woven(const PackedMatrix& w, const Activations& x, size_t n_tokens, float* y,
                             size_t y_stride, size_t row_begin, size_t row_end) {
    const DTypeInfo& type = dtype_info(w.type);
    const size_t row_bytes = w.n_columns / type.block_size * type.block_bytes;
    for (size_t row = row_begin; row < row_end; row += kRows) {
      const std::byte* group = w.data + row * row_bytes;
      size_t token = 0;
      for (; token + V::kTokens <= n_tokens; token += V::kTokens) {
        multiply_group<Format, V::kTokens>(group, x, token, y + row, y_stride);
      }
      for (; token < n_tokens; ++token) {
        multiply_group<Format, 1>(group, x, token, y + row, y_stride);
      }
    }
  }

  // Codes are rounded to nearest, so that |x - scale * code| <= scale / 2.
  static void quantize(const Activations& x, size_t token) {
    const size_t n_blocks = x.n_columns / kActivationBlock;
    const float* values = x.values + token * x.n_columns;
    auto* codes = reinterpret_cast<Code*>(x.codes) + token * x.n_columns;
    float* scales = x.scales + token * n_blocks;
    int32_t* sums = x.sums + token * n_blocks;
    int32_t* half_sums = x.half_sums + token * n_blocks * 2;
    for (size_t block = 0; block < n_blocks; ++block) {
      Float largest = V::splat(0.0f);
      for (size_t i = 0; i < kActivationBlock; i += kLanes) {
        largest = V::max(largest, V::abs(V::load(values + i)));
      }
      const float amax = V::horizontal_max(largest);
      const Float inverse = V::splat(amax > 0.0f ? 127.0f / amax : 0.0f);
      for (size_t half = 0; half < 2; ++half) {
        Int sum = V::splat_int(0);
        for (size_t i = 0; i < kActivationBlock / 2; i += kLanes) {
          const size_t at = half * kActivationBlock / 2 + i;
          const Int rounded = V::to_int(V::mul(V::load(values + at), inverse));
          V::store_codes(codes + at, rounded);
          sum = V::add_int(sum, rounded);
        }
        half_sums[2 * block + half] = V::horizontal_sum_int(sum);
      }
      scales[block] = amax / 127.0f;
      sums[block] = half_sums[2 * block] + half_sums[2 * block + 1];
      values += kActivationBlock;
      codes += kActivationBlock;
    }
  }

  // --- Matrices of floats, and of any other type by way of floats
  // ---------------------------------

  static Float load_weights(const float* w) { return V::load(w); }
  static Float load_weights(const Half* w) { return V::load_half(w); }
  static Float load_weights(const BFloat16* w) { return V::load_bfloat16(w); }
  static float weight(float w) { return w; }
  static float weight(Half w) { return to_float(w); }
  static float weight(BFloat16 w) { return to_float(w); }

  // R rows (w_stride elements apart) times T tokens (x_stride floats apart) over n columns,
  // accumulated onto y[t][r].
  template <size_t R, size_t T, class Element>
  static void accumulate_tile(const Element* w, size_t w_stride, const float* x, size_t x_stride,
                              size_t n, float* y, size_t y_stride) {
    Float sums[R][T];
    for (size_t r = 0; r < R; ++r) {
      for (size_t t = 0; t < T; ++t) sums[r][t] = V::splat(0.0f);
    }
    const size_t n_whole = n / kLanes * kLanes;
    for (size_t i = 0; i < n_whole; i += kLanes) {
      Float values[T];
      for (size_t t = 0; t < T; ++t) values[t] = V::load(x + t * x_stride + i);
      for (size_t r = 0; r < R; ++r) {
        const Float weights = load_weights(w + r * w_stride + i);
        for (size_t t = 0; t < T; ++t) sums[r][t] = V::fma(weights, values[t], sums[r][t]);
      }
    }
    for (size_t r = 0; r < R; ++r) {
      for (size_t t = 0; t < T; ++t) {
        float sum = V::horizontal_sum(sums[r][t]);
        for (size_t i = n_whole; i < n; ++i) {
          sum += weight(w[r * w_stride + i]) * x[t * x_stride + i];
        }
        y[t * y_stride + r] += sum;
      }
    }
  }

  template <size_t R, class Element>
  static void accumulate_rows(const Element* w, size_t w_stride, const float* x, size_t x_stride,
                              size_t n, size_t n_tokens, float* y, size_t y_stride) {
    size_t t = 0;
    for (; t + 2 <= n_tokens; t += 2) {
      accumulate_tile<R, 2>(w, w_stride, x + t * x_stride, x_stride, n, y + t * y_stride, y_stride);
    }
    if (t < n_tokens) {
      accumulate_tile<R, 1>(w, w_stride, x + t * x_stride, x_stride, n, y + t * y_stride, y_stride);
    }
  }

  static void clear(float* y, size_t y_stride, size_t n_tokens, size_t row_begin, size_t row_end) {
    for (size_t t = 0; t < n_tokens; ++t) {
      std::fill(y + t * y_stride + row_begin, y + t * y_stride + row_end, 0.0f);
    }
  }

  template <class Element>
  static void multiply_floats(const PackedMatrix& w, const Activations& x, size_t n_tokens,
                              float* y, size_t y_stride, size_t row_begin, size_t row_end) {
    clear(y, y_stride, n_tokens, row_begin, row_end);
    const auto* weights = reinterpret_cast<const Element*>(w.data);
    const size_t n = w.n_columns;
    size_t row = row_begin;
    for (; row + 4 <= row_end; row += 4) {
      accumulate_rows<4>(weights + row * n, n, x.values, n, n, n_tokens, y + row, y_stride);
    }
    for (; row < row_end; ++row) {
      accumulate_rows<1>(weights + row * n, n, x.values, n, n, n_tokens, y + row, y_stride);
    }
  }

  // Dequantizes a few rows at a time, so that their decoding is paid once for all tokens.
  static void multiply_dequantized(const PackedMatrix& w, const Activations& x, size_t n_tokens,
                                   float* y, size_t y_stride, size_t row_begin, size_t row_end) {
    constexpr size_t kChunk = 256;  // a multiple of every type's block size
    const DTypeInfo& type = dtype_info(w.type);
    const size_t row_bytes = w.n_columns / type.block_size * type.block_bytes;
    clear(y, y_stride, n_tokens, row_begin, row_end);
    alignas(64) float weights[kChunk];
    for (size_t row = row_begin; row < row_end; ++row) {
      const std::byte* blocks = w.data + row * row_bytes;
      for (size_t column = 0; column < w.n_columns; column += kChunk) {
        const size_t n = std::min(kChunk, w.n_columns - column);
        type.dequantize(blocks, weights, n);
        blocks += n / type.block_size * type.block_bytes;
        accumulate_rows<1>(weights, kChunk, x.values + column, x.n_columns, n, n_tokens, y + row,
                           y_stride);
      }
    }
  }

  // --- Vectors
  // ------------------------------------------------------------------------------------

  // See exponential.h.
  static Float exp(Float x) {
    namespace e = exponential;
    x = V::min(V::max(x, V::splat(e::kMin)), V::splat(e::kMax));
    const Float shifted = V::add(V::mul(x, V::splat(e::kLog2E)), V::splat(e::kRound));
    const Float n = V::sub_float(shifted, V::splat(e::kRound));
    Float r = V::sub_float(x, V::mul(n, V::splat(e::kLn2High)));
    r = V::sub_float(r, V::mul(n, V::splat(e::kLn2Low)));
    Float p = V::splat(e::kCoefficients[0]);
    for (int i = 1; i < 6; ++i) p = V::fma(p, r, V::splat(e::kCoefficients[i]));
    p = V::add(V::fma(V::mul(p, r), r, r), V::splat(1.0f));
    return V::add_exponent(p, shifted);
  }

  static float dot(const float* a, const float* b, size_t n) {
    Float sum = V::splat(0.0f);
    const size_t n_whole = n / kLanes * kLanes;
    for (size_t i = 0; i < n_whole; i += kLanes) sum = V::fma(V::load(a + i), V::load(b + i), sum);
    float result = V::horizontal_sum(sum);
    for (size_t i = n_whole; i < n; ++i) result += a[i] * b[i];
    return result;
  }

  static void rms_norm(const float* x, const float* weight, float epsilon, size_t n, float* out) {
    const float mean = dot(x, x, n) / static_cast<float>(n);
    const float scale = 1.0f / std::sqrt(mean + epsilon);
    const size_t n_whole = n / kLanes * kLanes;
    for (size_t i = 0; i < n_whole; i += kLanes) {
      V::store(out + i, V::mul(V::load(weight + i), V::mul(V::load(x + i), V::splat(scale))));
    }
    for (size_t i = n_whole; i < n; ++i) out[i] = weight[i] * (x[i] * scale);
  }

  static void add(float* x, const float* y, size_t n) {
    const size_t n_whole = n / kLanes * kLanes;
    for (size_t i = 0; i < n_whole; i += kLanes)
      V::store(x + i, V::add(V::load(x + i), V::load(y + i)));
    for (size_t i = n_whole; i < n; ++i) x[i] += y[i];
  }

  static void silu_multiply(float* gate, const float* up, size_t n) {
    const Float one = V::splat(1.0f);
    const size_t n_whole = n / kLanes * kLanes;
    for (size_t i = 0; i < n_whole; i += kLanes) {
      const Float x = V::load(gate + i);
      const Float divisor = V::add(one, exp(V::sub_float(V::splat(0.0f), x)));
      V::store(gate + i, V::mul(V::div(x, divisor), V::load(up + i)));
    }
    for (size_t i = n_whole; i < n; ++i) {
      gate[i] = gate[i] / (1.0f + exponential::exp(-gate[i])) * up[i];
    }
  }

  static void softmax(float* x, size_t n) {
    const size_t n_whole = n / kLanes * kLanes;
    float largest = x[n - 1];
    if (n_whole > 0) {
      Float maxima = V::load(x);
      for (size_t i = kLanes; i < n_whole; i += kLanes) maxima = V::max(maxima, V::load(x + i));
      largest = V::horizontal_max(maxima);
    }
    for (size_t i = n_whole; i < n; ++i) largest = std::max(largest, x[i]);

    Float sums = V::splat(0.0f);
    for (size_t i = 0; i < n_whole; i += kLanes) {
      const Float e = exp(V::sub_float(V::load(x + i), V::splat(largest)));
      V::store(x + i, e);
      sums = V::add(sums, e);
    }
    float sum = V::horizontal_sum(sums);
    for (size_t i = n_whole; i < n; ++i) {
      x[i] = exponential::exp(x[i] - largest);
      sum += x[i];
    }
    const float factor = 1.0f / sum;
    for (size_t i = 0; i < n_whole; i += kLanes) {
      V::store(x + i, V::mul(V::load(x + i), V::splat(factor)));
    }
    for (size_t i = n_whole; i < n; ++i) x[i] *= factor;
  }

  static const float* row_at(HeadRows rows, size_t position) {
    return reinterpret_cast<const float*>(rows.data + position * rows.row_stride);
  }

  // scores[p] = scale * query · keys[p] for N positions from `position` on, side by side: one
  // product alone would wait for its own sum.
  template <size_t N>
  static void score(const AttentionHead& head, size_t position) {
    const size_t n_whole = head.head_dim / kLanes * kLanes;
    Float sums[N];
    for (size_t p = 0; p < N; ++p) sums[p] = V::splat(0.0f);
    for (size_t i = 0; i < n_whole; i += kLanes) {
      const Float query = V::load(head.query + i);
      for (size_t p = 0; p < N; ++p) {
        sums[p] = V::fma(query, V::load(row_at(head.keys, position + p) + i), sums[p]);
      }
    }
    for (size_t p = 0; p < N; ++p) {
      float sum = V::horizontal_sum(sums[p]);
      for (size_t i = n_whole; i < head.head_dim; ++i) {
        sum += head.query[i] * row_at(head.keys, position + p)[i];
      }
      head.scores[position + p] = head.scale * sum;
    }
  }

  // N vectors of the output, from element `from` on: they stay in registers over all positions.
  template <size_t N>
  static void weigh_values(const AttentionHead& head, size_t from) {
    Float sums[N];
    for (size_t i = 0; i < N; ++i) sums[i] = V::splat(0.0f);
    for (size_t position = 0; position < head.n_positions; ++position) {
      const float* value = row_at(head.values, position) + from;
      const Float weight = V::splat(head.scores[position]);
      for (size_t i = 0; i < N; ++i) {
        sums[i] = V::fma(weight, V::load(value + i * kLanes), sums[i]);
      }
    }
    for (size_t i = 0; i < N; ++i) V::store(head.output + from + i * kLanes, sums[i]);
  }

  static void attend_f32(const AttentionHead& head) {
    size_t position = 0;
    for (; position + 4 <= head.n_positions; position += 4) score<4>(head, position);
    for (; position < head.n_positions; ++position) score<1>(head, position);

    softmax(head.scores, head.n_positions);

    size_t i = 0;
    for (; i + 4 * kLanes <= head.head_dim; i += 4 * kLanes) weigh_values<4>(head, i);
    for (; i + kLanes <= head.head_dim; i += kLanes) weigh_values<1>(head, i);
    for (; i < head.head_dim; ++i) {
      float sum = 0.0f;
      for (size_t p = 0; p < head.n_positions; ++p) {
        sum += head.scores[p] * row_at(head.values, p)[i];
      }
      head.output[i] = sum;
    }
  }

  // The whole set; what is not vectorized here stays scalar.
  static KernelSet kernel_set(std::string_view name) {
    KernelSet set = scalar_kernels();
    set.name = name;
    set.quantize = quantize;
    set.rms_norm = rms_norm;
    set.add = add;
    set.silu_multiply = silu_multiply;
    set.softmax = softmax;
    set.attend_f32 = attend_f32;

    set.matmul.fill({multiply_dequantized, ActivationFormat::f32, 1});
    const auto use = [&set](DType type, MatmulFunction multiply, ActivationFormat activations,
                            uint32_t interleave) {
      set.matmul[static_cast<size_t>(type)] = {multiply, activations, interleave};
    };
    use(DType::f32, multiply_floats<float>, ActivationFormat::f32, 1);
    use(DType::f16, multiply_floats<Half>, ActivationFormat::f32, 1);
    use(DType::bf16, multiply_floats<BFloat16>, ActivationFormat::f32, 1);
    use(DType::q4_0, multiply_woven<DotQ4_0<V>>, ActivationFormat::int8, kRows);
    use(DType::q8_0, multiply_woven<DotQ8_0<V>>, ActivationFormat::int8, kRows);
    use(DType::q5_0, multiply_woven<DotQ5_0<V>>, ActivationFormat::int8, kRows);
    use(DType::q4_k, multiply_woven<DotQ4_K<V>>, ActivationFormat::int8, kRows);
    use(DType::q6_k, multiply_woven<DotQ6_K<V>>, ActivationFormat::int8, kRows);
    return set;
  }
};

}  // namespace kinglet
