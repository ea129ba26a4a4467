// The attention functions of each KvKind, over a vector type V (see vector_type.h).
//
// F16 and FP8 are widened to floats and use the code of F32: converting once for all query rows is
// faster, and is less code to download. Integer kinds are multiplied as integers, 16 bits by 16
// bits, and pairs of products are summed in 32 bits: a key with a quantized query, and the values
// of two positions with the quantized weights of both. For this, V provides
//   dot_words(sums, a, b)          sums += a's pairs of int16 times b's
//   load_ints(p)                   2 * kLanes int16
//   load_words(p)                  2 * kLanes int8, as int16
//   load_nibble_words(p, words)    a block of q4: 32 codes as int16, even elements before odd ones
//   load_pairs(a, b, pairs)        kPairVectors * kLanes int8 of two rows, as pairs of int16
//   load_nibble_pairs(a, b, pairs) as many q4 codes of two rows, even elements before odd ones
//   interleave(even, odd, out)     the same numbers as two vectors in order
//   store_sums(x, p)               the sum of the lanes of each of four vectors
//   store_words(p, ints)           kLanes int16
//   load_int8(p)                   kLanes int8, as int32
//   splat_half(x)                  a Half as a float in every lane
//   transpose(x)                   transposes kLanes vectors; only if kLanes is kMaxQueryRows, and
//                                  so are the next two
//   HalfLength                     vectors of kLanes / 2 lanes, with what score_in_lanes() needs
//   whole(x)                       a Float, also of HalfLength, as a Float, with 0 in other lanes
//   shift_left, and_ints, as_floats
//   kQueryRows                     query rows whose sums fit into registers: 2 or 3
//
// The scalar code processes elements that do not fill a vector.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.h"
#include "base/loops.h"
#include "kernels/kernels.h"
#include "kernels/scalar/attention.h"
#include "kernels/vector/math.h"

namespace kinglet {

template <class V>
struct VectorAttention {
  using Float = typename V::Float;
  using Int = typename V::Int;
  static constexpr size_t kLanes = V::kLanes;
  static constexpr size_t kPositions = 4;      // keys that are multiplied together
  static constexpr size_t kColumns = 4;        // vectors of a float value at a time
  static constexpr size_t kMostWidened = 512;  // elements of a key, as words
  static constexpr size_t kPairVectors = V::kPairVectors;
  static constexpr size_t kChunk = kPairVectors * kLanes;  // elements of a value at a time

  static constexpr bool kHasLaneForRow = kLanes == kMaxQueryRows;
  static constexpr size_t kLaneKeys = 8;  // keys that are multiplied together by rows in lanes

  static void add_to(KernelSet& set) {
    set.quantize_query = quantize_query;
    set.reads_transposed = kHasLaneForRow;
    const auto use = [&set](KvKind kind, const AttentionKernels& kernels) {
      set.attention[static_cast<size_t>(kind)] = kernels;
    };
    use(KvKind::f32, {score_f32, weigh_f32});
    use(KvKind::f16, {score_f32, weigh_f32, widen<KvKind::f16>});
    use(KvKind::int8, {score_int8, weigh_int8});
    use(KvKind::fp8_e4m3, {score_f32, weigh_f32, widen<KvKind::fp8_e4m3>});
    use(KvKind::fp8_e5m2, {score_f32, weigh_f32, widen<KvKind::fp8_e5m2>});
    use(KvKind::q8, {score_blocks<Bytes>, weigh_blocks<Bytes>});
    use(KvKind::q4, {score_blocks<Nibbles>, weigh_blocks<Nibbles>});
  }

  // Finds the n rows from `position` on. After the last position, it repeats the last row.
  static void find_rows(const KvRows& rows, size_t position, size_t n_positions, size_t n,
                        const std::byte** found) {
    for (size_t i = 0; i < n; ++i) {
      found[i] = rows.codes + std::min(position + i, n_positions - 1) * rows.code_stride;
    }
  }

  // Finds the scales of these rows in the same way.
  static void find_scales(const KvRows& rows, size_t position, size_t n_positions, size_t n,
                          const float** found) {
    for (size_t i = 0; i < n; ++i) {
      found[i] = rows.scales + std::min(position + i, n_positions - 1) * rows.scale_stride;
    }
  }

  // Calls f.template operator()<R>(row) for groups of at most kMost rows; a group has R rows and
  // begins at `row`. Four rows are two pairs, not three and one.
  template <size_t kMost, class F>
  static void with_rows(size_t n_rows, const F& f) {
    size_t row = 0;
    if constexpr (kMost == 3) {
      KINGLET_AS_WRITTEN
      for (; n_rows - row > 4 || n_rows - row == 3; row += 3) f.template operator()<3>(row);
    }
    KINGLET_AS_WRITTEN
    for (; n_rows - row >= 2; row += 2) f.template operator()<2>(row);
    if (row < n_rows) f.template operator()<1>(row);
  }

  // --- Floats ------------------------------------------------------------------------------------

  // Formats that are converted to floats: load() widens kLanes elements.
  struct F16 {
    using Element = Half;
    Float load(const Element* p) const { return V::load_half(p); }
  };

  // Both 8-bit float formats. The 7 bits below the sign are moved to their place in a float; then
  // the exponent is too small, which a multiplication by `factor` corrects.
  struct Fp8 {
    using Element = std::byte;
    int shift;
    Int mask;
    Float factor;
    Float load(const Element* p) const {
      const Int moved = V::shift_left(V::load_int8(p), shift);
      return V::mul(V::as_floats(V::and_ints(moved, mask)), factor);
    }
    static Fp8 e4m3() { return {20, V::splat_int(-0x78100000), V::splat(0x1p120f)}; }
    static Fp8 e5m2() { return {21, V::splat_int(-0x70200000), V::splat(0x1p112f)}; }
  };

  template <KvKind kKind>
  static auto format() {
    if constexpr (kKind == KvKind::f16) return F16{};
    if constexpr (kKind == KvKind::fp8_e4m3) return Fp8::e4m3();
    if constexpr (kKind == KvKind::fp8_e5m2) return Fp8::e5m2();
  }

  // See AttentionKernels. The scalar code converts elements that do not fill a vector.
  template <KvKind kKind>
  static void widen(const KvRows& rows, size_t n_positions, size_t head_dim, size_t stride,
                    float* out) {
    const auto format = VectorAttention::format<kKind>();
    using Element = typename decltype(format)::Element;
    const size_t n_whole = head_dim / kLanes * kLanes;
    for (size_t p = 0; p < n_positions; ++p) {
      const std::byte* row = rows.codes + p * rows.code_stride;
      const float* scale = rows.scales + p * rows.scale_stride;
      const auto* elements = reinterpret_cast<const Element*>(row);
      KINGLET_AS_WRITTEN
      for (size_t i = 0; i < n_whole; i += kLanes) {
        Float x = format.load(elements + i);
        if constexpr (kKind != KvKind::f16) x = V::mul(x, V::splat(*scale));
        V::store(out + p * stride + i, x);
      }
      if (n_whole == head_dim) continue;
      kv_kind_info(kKind).read_row(row, scale, n_whole, head_dim, out + p * stride + n_whole);
    }
  }

  static void score_f32(const Queries& queries, size_t n_rows, const KvRows& keys,
                        size_t n_positions, float* scores) {
    if constexpr (kHasLaneForRow) {
      if (queries.transposed != nullptr) {
        return score_in_lanes(n_rows, n_positions, scores, [&]<class Rows>(size_t p, Float* sums) {
          const std::byte* rows[kLaneKeys];
          find_rows(keys, p, n_positions, kLaneKeys, rows);
          add_products<Rows>(queries, queries.head_dim, rows, sums);
        });
      }
    }
    const size_t n_whole = queries.head_dim / kLanes * kLanes;
    KINGLET_AS_WRITTEN
    for (size_t p = 0; p < n_positions; p += kPositions) {
      const std::byte* rows[kPositions];
      find_rows(keys, p, n_positions, kPositions, rows);
      score_four_rows(queries, n_rows, n_whole, rows, scores + p);
    }
    add_scores(KvKind::f32, queries, n_rows, keys, n_positions, n_whole, scores);
  }

  // Computes all query rows in the lanes of a vector. This needs no sums of lanes, which take most
  // of the time for short heads. Calls multiply.template operator()<Rows>(p, sums) for the products
  // of the kLaneKeys keys from position p on with all rows. Rows is V, or its half: vectors that
  // hold 8 rows, and take half the time.
  template <class Multiply>
  [[gnu::noinline]] static void score_in_lanes(size_t n_rows, size_t n_positions, float* scores,
                                               const Multiply& multiply) {
    for (size_t p = 0; p < n_positions; p += kLanes) {
      Float sums[kLanes];
      for (size_t half = 0; half < kLanes; half += kLaneKeys) {
        if (2 * n_rows > kLanes) {
          multiply.template operator()<V>(p + half, sums + half);
        } else {
          multiply.template operator()<typename V::HalfLength>(p + half, sums + half);
        }
      }
      V::transpose(sums);
      for (size_t row = 0; row < n_rows; ++row) {
        V::store(scores + row * kAttentionBlock + p, sums[row]);
      }
    }
  }

  // sums[k] = the products of the first n elements of float key k with the query rows.
  template <class Rows>
  static void add_products(const Queries& queries, size_t n, const std::byte* const* keys,
                           Float* sums) {
    typename Rows::Float parts[kLaneKeys];
    std::fill_n(parts, kLaneKeys, Rows::splat(0.0f));
    KINGLET_AS_WRITTEN
    for (size_t i = 0; i < n; ++i) {
      const auto query = Rows::load(queries.transposed + i * kLanes);
      for (size_t k = 0; k < kLaneKeys; ++k) {
        const float key = reinterpret_cast<const float*>(keys[k])[i];
        parts[k] = Rows::fma(query, Rows::splat(key), parts[k]);
      }
    }
    for (size_t k = 0; k < kLaneKeys; ++k) sums[k] = V::whole(parts[k]);
  }

  // Multiplies the first n elements of four float keys with all query rows.
  [[gnu::noinline]] static void score_four_rows(const Queries& queries, size_t n_rows, size_t n,
                                                const std::byte* const* rows, float* scores) {
    with_rows<V::kQueryRows>(n_rows, [&]<size_t R>(size_t row) {
      score_four<R>(queries.values + row * queries.stride, queries.stride, n, rows,
                    scores + row * kAttentionBlock);
    });
  }

  template <size_t R>
  static void score_four(const float* queries, size_t stride, size_t n,
                         const std::byte* const* rows, float* scores) {
    Float sums[R][kPositions];
    for (auto& row : sums) std::fill_n(row, kPositions, V::splat(0.0f));
    KINGLET_AS_WRITTEN
    for (size_t i = 0; i < n; i += kLanes) {
      Float query[R];
      for (size_t r = 0; r < R; ++r) query[r] = V::load(queries + r * stride + i);
      for (size_t p = 0; p < kPositions; ++p) {
        const Float key = V::load(reinterpret_cast<const float*>(rows[p]) + i);
        for (size_t r = 0; r < R; ++r) sums[r][p] = V::fma(query[r], key, sums[r][p]);
      }
    }
    for (size_t r = 0; r < R; ++r) V::store_sums(sums[r], scores + r * kAttentionBlock);
  }

  // Calls f.template operator()<N>(i) for each group of N vectors, from element i on, in a row of
  // head_dim floats. Returns the number of elements in these groups.
  template <class F>
  static size_t for_columns(size_t head_dim, const F& f) {
    size_t i = 0;
    for (; i + kColumns * kLanes <= head_dim; i += kColumns * kLanes) {
      f.template operator()<kColumns>(i);
    }
    // With short vectors, code for head sizes that are not multiples of four vectors is not worth
    // its size.
    if constexpr (kLanes > 4) {
      for (; i + 2 * kLanes <= head_dim; i += 2 * kLanes) f.template operator()<2>(i);
      for (; i + kLanes <= head_dim; i += kLanes) f.template operator()<1>(i);
    }
    return i;
  }

  static void weigh_f32(const float* weights, const float* factors, size_t n_rows,
                        const KvRows& values, size_t n_positions, size_t head_dim,
                        float* const* outputs) {
    const size_t n_done = for_columns(head_dim, [&]<size_t N>(size_t i) {
      weigh_columns<N>(weights, factors, n_rows, values.codes + i * sizeof(float),
                       values.code_stride, n_positions, i, outputs);
    });
    add_weighted(KvKind::f32, weights, factors, n_rows, values, n_positions, n_done, head_dim,
                 outputs);
  }

  // Computes N vectors of each output, from element `from` on. The values begin at `column`.
  template <size_t N>
  [[gnu::noinline]] static void weigh_columns(const float* weights, const float* factors,
                                              size_t n_rows, const std::byte* column, size_t stride,
                                              size_t n_positions, size_t from,
                                              float* const* outputs) {
    // With few columns, there are registers for more rows.
    size_t n_done = 0;
    if constexpr (kHasLaneForRow && N <= 2) {
      for (; n_done + 8 <= n_rows; n_done += 8) {
        weigh_rows<8, N>(weights + n_done * kAttentionBlock, factors + n_done, column, stride,
                         n_positions, from, outputs + n_done);
      }
    }
    with_rows<V::kQueryRows>(n_rows - n_done, [&]<size_t R>(size_t i) {
      const size_t row = n_done + i;
      weigh_rows<R, N>(weights + row * kAttentionBlock, factors + row, column, stride, n_positions,
                       from, outputs + row);
    });
  }

  // The sums stay in registers for all positions.
  template <size_t R, size_t N>
  static void weigh_rows(const float* weights, const float* factors, const std::byte* column,
                         size_t stride, size_t n_positions, size_t from, float* const* outputs) {
    Float sums[R][N];
    for (size_t r = 0; r < R; ++r) {
      for (size_t i = 0; i < N; ++i) {
        sums[r][i] = V::mul(V::load(outputs[r] + from + i * kLanes), V::splat(factors[r]));
      }
    }
    KINGLET_AS_WRITTEN
    for (size_t p = 0; p < n_positions; ++p) {
      const auto* row = reinterpret_cast<const float*>(column + p * stride);
      Float weight[R];
      for (size_t r = 0; r < R; ++r) weight[r] = V::splat(weights[r * kAttentionBlock + p]);
      for (size_t i = 0; i < N; ++i) {
        const Float value = V::load(row + i * kLanes);
        for (size_t r = 0; r < R; ++r) sums[r][i] = V::fma(weight[r], value, sums[r][i]);
      }
    }
    for (size_t r = 0; r < R; ++r) {
      for (size_t i = 0; i < N; ++i) V::store(outputs[r] + from + i * kLanes, sums[r][i]);
    }
  }

  // --- Integers ----------------------------------------------------------------------------------

  // int8 and q8.
  struct Bytes {
    static constexpr size_t kQueryRows = V::kQueryRows;
    static constexpr size_t kWordVectors = 1;
    static constexpr size_t kStep = 2 * kLanes;  // elements of a key at a time
    static const std::byte* at(const std::byte* row, size_t element) { return row + element; }
    static float scale(const std::byte* /*row*/, const float* scales, size_t block) {
      return scales[block];
    }
    // Collects the scales of a block of elements for n positions; for those after them, 0.
    static void load_scales(const KvRows& rows, size_t n, size_t block, float* out) {
      const float* scale = rows.scales + block;
      KINGLET_AS_WRITTEN
      for (size_t p = 0; p < n; ++p, scale += rows.scale_stride) out[p] = *scale;
      if (n < kAttentionBlock) std::fill(out + n, out + kAttentionBlock, 0.0f);
    }
    static void load_words(const std::byte* p, Int* words) { words[0] = V::load_words(p); }
    static void load_pairs(const std::byte* a, const std::byte* b, Int* pairs) {
      V::load_pairs(a, b, pairs);
    }
    static void put_in_order(Float* /*elements*/) {}
  };

  struct Nibbles {
    // Unpacking codes twice takes longer than sums that do not fit into registers.
    static constexpr size_t kQueryRows = 3;
    static constexpr size_t kWordVectors = kKvBlock / (2 * kLanes);
    static constexpr size_t kStep = kKvBlock;
    static const KvBlockQ4& block_of(const std::byte* row, size_t block) {
      return reinterpret_cast<const KvBlockQ4*>(row)[block];
    }
    static const std::byte* at(const std::byte* row, size_t element) {
      return block_of(row, element / kKvBlock).codes + element % kKvBlock / 2;
    }
    static Half scale(const std::byte* row, const float* /*scales*/, size_t block) {
      return block_of(row, block).scale;
    }
    static void load_scales(const KvRows& rows, size_t n, size_t block, float* out) {
      alignas(64) Half scales[kAttentionBlock];
      const std::byte* row = rows.codes;
      KINGLET_AS_WRITTEN
      for (size_t p = 0; p < n; ++p, row += rows.code_stride) {
        scales[p] = scale(row, nullptr, block);
      }
      if (n < kAttentionBlock) std::fill(scales + n, scales + kAttentionBlock, Half{});
      KINGLET_AS_WRITTEN
      for (size_t i = 0; i < kAttentionBlock; i += kLanes)
        V::store(out + i, V::load_half(scales + i));
    }
    static void load_words(const std::byte* p, Int* words) { V::load_nibble_words(p, words); }
    static void load_pairs(const std::byte* a, const std::byte* b, Int* pairs) {
      V::load_nibble_pairs(a, b, pairs);
    }
    static void put_in_order(Float* elements) {
      Float ordered[kPairVectors];
      for (size_t i = 0; i < kPairVectors / 2; ++i) {
        V::interleave(elements[i], elements[kPairVectors / 2 + i], ordered + 2 * i);
      }
      std::copy_n(ordered, kPairVectors, elements);
    }
  };

  template <class W>
  static auto splat_scale(float scale) {
    return W::splat(scale);
  }
  template <class W>
  static auto splat_scale(Half scale) {
    return W::splat_half(scale);
  }

  static float quantize_query(const float* values, size_t head_dim, size_t stride, KvKind kind,
                              int16_t* codes) {
    // Sums of head_dim products with codes of ±127 must fit into 32 bits.
    const float largest_code = static_cast<float>(std::min<size_t>(32767, 0x1000000 / head_dim));
    const float largest = VectorMath<V>::largest_magnitude(values, head_dim);
    const size_t n_numbers = std::isfinite(largest) ? head_dim : 0;
    const float inverse = largest > kSmallestNumber ? largest_code / largest : 0.0f;

    alignas(64) float padded[kKvBlock];
    KINGLET_AS_WRITTEN
    for (size_t from = 0; from < stride; from += kKvBlock) {
      const size_t n = std::min(kKvBlock, n_numbers - std::min(from, n_numbers));
      std::fill(std::copy_n(values + from, n, padded), padded + kKvBlock, 0.0f);
      for (size_t i = 0; i < kKvBlock; i += kLanes) {
        const Float scaled = V::mul(V::load(padded + i), V::splat(inverse));
        V::store_words(codes + from + i, V::to_int(scaled));
      }
      if (kind == KvKind::q4) put_even_codes_first(codes + from);
    }
    return largest / largest_code;
  }

  static void put_even_codes_first(int16_t* block) {
    int16_t codes[kKvBlock];
    std::copy_n(block, kKvBlock, codes);
    KINGLET_AS_WRITTEN
    for (size_t i = 0; i < kKvBlock / 2; ++i) {
      block[i] = codes[2 * i];
      block[kKvBlock / 2 + i] = codes[2 * i + 1];
    }
  }

  static void score_int8(const Queries& queries, size_t n_rows, const KvRows& keys,
                         size_t n_positions, float* scores) {
    score_codes<Bytes>(queries, n_rows, keys, n_positions, queries.head_dim, scores);
    add_scores(KvKind::int8, queries, n_rows, keys, n_positions,
               queries.head_dim / Bytes::kStep * Bytes::kStep, scores);
  }

  template <class Codes>
  static void score_blocks(const Queries& queries, size_t n_rows, const KvRows& keys,
                           size_t n_positions, float* scores) {
    score_codes<Codes>(queries, n_rows, keys, n_positions, kKvBlock, scores);
  }

  // `block` is the number of elements that share a scale. Elements at its end that do not fill a
  // step are left out.
  template <class Codes>
  [[gnu::noinline]] static void score_codes(const Queries& queries, size_t n_rows,
                                            const KvRows& keys, size_t n_positions, size_t block,
                                            float* scores) {
    score_unscaled<Codes>(queries, n_rows, keys, n_positions, block, scores);
    for (size_t row = 0; row < n_rows; ++row) {
      const Float scale = V::splat(queries.scales[row]);
      const Float offset = V::splat(queries.offsets[row]);
      float* out = scores + row * kAttentionBlock;
      KINGLET_AS_WRITTEN
      for (size_t p = 0; p < kAttentionBlock; p += kLanes) {
        V::store(out + p, V::fma(V::load(out + p), scale, offset));
      }
    }
  }

  // The scores without the scales and the offsets of the queries.
  template <class Codes>
  static void score_unscaled(const Queries& queries, size_t n_rows, const KvRows& keys,
                             size_t n_positions, size_t block, float* scores) {
    if constexpr (kHasLaneForRow) {
      if (queries.transposed_codes != nullptr && queries.head_dim <= kMostWidened) {
        return score_in_lanes(n_rows, n_positions, scores, [&]<class Rows>(size_t p, Float* sums) {
          const std::byte* rows[kLaneKeys];
          const float* scales[kLaneKeys];
          find_rows(keys, p, n_positions, kLaneKeys, rows);
          find_scales(keys, p, n_positions, kLaneKeys, scales);
          add_code_products<Codes, Rows>(queries, block, rows, scales, sums);
        });
      }
    }
    KINGLET_AS_WRITTEN
    for (size_t p = 0; p < n_positions; p += kPositions) {
      const std::byte* rows[kPositions];
      const float* scales[kPositions];
      find_rows(keys, p, n_positions, kPositions, rows);
      find_scales(keys, p, n_positions, kPositions, scales);
      with_rows<Codes::kQueryRows>(n_rows, [&]<size_t R>(size_t row) {
        score_four_codes<Codes, R>(queries, row, block, rows, scales,
                                   scores + row * kAttentionBlock + p);
      });
    }
  }

  // dots[k] = the products of the first n words of key k with the codes of the query rows. In a
  // function of its own, the compiler keeps the sums in registers.
  template <class Rows>
  [[gnu::noinline]] static void dot_codes(const int16_t* transposed, size_t n,
                                          const int16_t (&words)[kLaneKeys][kMostWidened],
                                          typename Rows::Int* dots) {
    typename Rows::Int sums[kLaneKeys];
    std::fill_n(sums, kLaneKeys, Rows::splat_int(0));
    KINGLET_AS_WRITTEN
    for (size_t i = 0; i < n; i += 2) {
      const auto query = Rows::load_ints(transposed + i * kLanes);
      for (size_t k = 0; k < kLaneKeys; ++k) {
        int32_t pair;
        std::memcpy(&pair, words[k] + i, sizeof pair);
        sums[k] = Rows::dot_words(sums[k], query, Rows::splat_int(pair));
      }
    }
    std::copy_n(sums, kLaneKeys, dots);
  }

  // sums[k] = the products of key k with the codes of the query rows.
  template <class Codes, class Rows>
  static void add_code_products(const Queries& queries, size_t block, const std::byte* const* rows,
                                const float* const* scales, Float* sums) {
    const size_t n_whole = block / Codes::kStep * Codes::kStep;
    typename Rows::Float parts[kLaneKeys];
    std::fill_n(parts, kLaneKeys, Rows::splat(0.0f));
    for (size_t from = 0; from < queries.head_dim; from += block) {
      alignas(64) int16_t words[kLaneKeys][kMostWidened];
      for (size_t k = 0; k < kLaneKeys; ++k) {
        for (size_t i = 0; i < n_whole; i += Codes::kStep) {
          Int vectors[Codes::kWordVectors];
          Codes::load_words(Codes::at(rows[k], from + i), vectors);
          std::memcpy(words[k] + i, vectors, sizeof vectors);
        }
      }
      typename Rows::Int dots[kLaneKeys];
      dot_codes<Rows>(queries.transposed_codes + from * kLanes, n_whole, words, dots);
      for (size_t k = 0; k < kLaneKeys; ++k) {
        const auto scale = splat_scale<Rows>(Codes::scale(rows[k], scales[k], from / block));
        parts[k] = Rows::fma(Rows::to_float(dots[k]), scale, parts[k]);
      }
    }
    for (size_t k = 0; k < kLaneKeys; ++k) sums[k] = V::whole(parts[k]);
  }

  template <class Codes, size_t R>
  static void score_four_codes(const Queries& queries, size_t first_row, size_t block,
                               const std::byte* const* rows, const float* const* scales,
                               float* scores) {
    const int16_t* codes = queries.codes + first_row * queries.stride;
    const size_t n_whole = block / Codes::kStep * Codes::kStep;
    Float sums[R][kPositions];
    for (auto& row : sums) std::fill_n(row, kPositions, V::splat(0.0f));
    KINGLET_AS_WRITTEN
    for (size_t from = 0; from < queries.head_dim; from += block) {
      Int dots[R][kPositions];
      for (auto& row : dots) std::fill_n(row, kPositions, V::splat_int(0));
      KINGLET_AS_WRITTEN
      for (size_t i = from; i < from + n_whole; i += Codes::kStep) {
        for (size_t p = 0; p < kPositions; ++p) {
          Int words[Codes::kWordVectors];
          Codes::load_words(Codes::at(rows[p], i), words);
          for (size_t k = 0; k < Codes::kWordVectors; ++k) {
            for (size_t r = 0; r < R; ++r) {
              const int16_t* query = codes + r * queries.stride + i + k * 2 * kLanes;
              dots[r][p] = V::dot_words(dots[r][p], words[k], V::load_ints(query));
            }
          }
        }
      }
      for (size_t p = 0; p < kPositions; ++p) {
        const Float scale = splat_scale<V>(Codes::scale(rows[p], scales[p], from / block));
        for (size_t r = 0; r < R; ++r) {
          sums[r][p] = V::fma(V::to_float(dots[r][p]), scale, sums[r][p]);
        }
      }
    }
    for (size_t r = 0; r < R; ++r) V::store_sums(sums[r], scores + r * kAttentionBlock);
  }

  // The products of weights and the values' scales for one block of elements, as 16-bit codes.
  struct BlockWeights {
    alignas(64) int16_t codes[kMaxQueryRows][kAttentionBlock];
    float units[kMaxQueryRows];  // the product that code 1 means
  };

  [[gnu::noinline]] static void quantize_weights(const float* weights, size_t n_rows,
                                                 const float* scales, BlockWeights& out) {
    constexpr float kLargestCode = 32767.0f;
    for (size_t r = 0; r < n_rows; ++r) {
      const auto scaled = [&](size_t i) {
        return V::mul(V::load(weights + r * kAttentionBlock + i), V::load(scales + i));
      };
      Float maxima = V::splat(0.0f);
      KINGLET_AS_WRITTEN
      for (size_t i = 0; i < kAttentionBlock; i += kLanes)
        maxima = V::max(maxima, V::abs(scaled(i)));
      const float largest = V::horizontal_max(maxima);
      const Float inverse = V::splat(largest > kSmallestNumber ? kLargestCode / largest : 0.0f);
      KINGLET_AS_WRITTEN
      for (size_t i = 0; i < kAttentionBlock; i += kLanes) {
        V::store_words(out.codes[r] + i, V::to_small_int(V::mul(scaled(i), inverse)));
      }
      out.units[r] = largest / kLargestCode;
    }
  }

  static void weigh_int8(const float* weights, const float* factors, size_t n_rows,
                         const KvRows& values, size_t n_positions, size_t head_dim,
                         float* const* outputs) {
    weigh_codes<Bytes>(weights, factors, n_rows, values, n_positions, head_dim, head_dim, outputs);
    add_weighted(KvKind::int8, weights, factors, n_rows, values, n_positions,
                 head_dim / kChunk * kChunk, head_dim, outputs);
  }

  template <class Codes>
  static void weigh_blocks(const float* weights, const float* factors, size_t n_rows,
                           const KvRows& values, size_t n_positions, size_t head_dim,
                           float* const* outputs) {
    weigh_codes<Codes>(weights, factors, n_rows, values, n_positions, head_dim, kKvBlock, outputs);
  }

  // `block` is the number of elements that share a scale. Elements at its end that do not fill a
  // chunk are left out.
  template <class Codes>
  [[gnu::noinline]] static void weigh_codes(const float* weights, const float* factors,
                                            size_t n_rows, const KvRows& values, size_t n_positions,
                                            size_t head_dim, size_t block, float* const* outputs) {
    BlockWeights quantized;
    alignas(64) float scales[kAttentionBlock];
    for (size_t from = 0; from < head_dim; from += block) {
      Codes::load_scales(values, n_positions, from / block, scales);
      quantize_weights(weights, n_rows, scales, quantized);
      for (size_t i = from; i + kChunk <= from + block && i < head_dim; i += kChunk) {
        with_rows<Codes::kQueryRows>(n_rows, [&]<size_t R>(size_t row) {
          weigh_chunk<Codes, R>(quantized, row, factors, values, n_positions, i, head_dim, outputs);
        });
      }
    }
  }

  // Computes a chunk of the R outputs from `row` on.
  template <class Codes, size_t R>
  static void weigh_chunk(const BlockWeights& weights, size_t row, const float* factors,
                          const KvRows& values, size_t n_positions, size_t from, size_t head_dim,
                          float* const* outputs) {
    Int sums[R][kPairVectors];
    for (auto& chunk : sums) std::fill_n(chunk, kPairVectors, V::splat_int(0));
    const auto add_pair = [&](size_t p, const std::byte* first, const std::byte* second) {
      Int pairs[kPairVectors];
      Codes::load_pairs(first, second, pairs);
      for (size_t r = 0; r < R; ++r) {
        int32_t both;
        std::memcpy(&both, weights.codes[row + r] + p, sizeof both);
        const Int weight = V::splat_int(both);
        for (size_t k = 0; k < kPairVectors; ++k) {
          sums[r][k] = V::dot_words(sums[r][k], pairs[k], weight);
        }
      }
    };
    const std::byte* value = Codes::at(values.codes, from);
    size_t p = 0;
    KINGLET_AS_WRITTEN
    for (; p + 2 <= n_positions; p += 2) {
      add_pair(p, value, value + values.code_stride);
      value += 2 * values.code_stride;
    }
    // The last of an odd number is paired with itself; its second weight is 0.
    if (p < n_positions) add_pair(p, value, value);
    for (size_t r = 0; r < R; ++r) {
      Float elements[kPairVectors];
      for (size_t k = 0; k < kPairVectors; ++k) elements[k] = V::to_float(sums[r][k]);
      Codes::put_in_order(elements);
      add_chunk(elements, weights.units[row + r], factors[row + r],
                std::min(kChunk, head_dim - from), outputs[row + r] + from);
    }
  }

  // output = factor * output + unit * elements, for the first n elements of a chunk.
  [[gnu::noinline]] static void add_chunk(const Float* elements, float unit, float factor, size_t n,
                                          float* output) {
    float part[kChunk] = {};
    float* out = n < kChunk ? std::copy_n(output, n, part) - n : output;
    for (size_t k = 0; k < kPairVectors; ++k) {
      const Float before = V::mul(V::load(out + k * kLanes), V::splat(factor));
      V::store(out + k * kLanes, V::fma(elements[k], V::splat(unit), before));
    }
    if (n < kChunk) std::copy_n(part, n, output);
  }
};

}  // namespace kinglet
