// Matrix multiplication by looking up sums, over a vector type V (see vector_type.h).
//
// If weights are bits, 4 bits of a row select one of 16 sums of 4 activations. These sums are
// computed once for each row of activations (see SumTable). One byte shuffle then looks up a sum
// for as many rows of the matrix as a vector has bytes. No bit is widened to a byte and nothing is
// multiplied, so a bit takes about a third of the time of a 4-bit code. The results are the same:
// sums of 32 columns are exact, and are converted to floats as in vector/interleaved_dot.h. Pairs
// of bits take twice as long as bits. Vectors of x86 are so long that dot products of pairs are
// faster there (see PairDot in vector/interleaved_dot.h).
//
// 32 rows are interleaved together in units of a byte (see packing.h), one unit per byte of a
// vector.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/loops.h"
#include "kernels/activation_block.h"
#include "kernels/kernels.h"
#include "kernels/vector/prefetch.h"
#include "kernels/vector/table_formats.h"
#include "tensor/dtype.h"

namespace kinglet {

// The bits of the numbers 0 … 15 as 16-bit words: first bits 0 and 1 of each number, then bits 2
// and 3.
constexpr int16_t kSumBits[2][2 * kTableSums] = {
    {0, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 1, 1, 1,
     0, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 1, 1, 1},
    {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0,
     0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1},
};

template <class V>
struct TableMatmul {
  using Float = typename V::Float;
  using Int = typename V::Int;
  using Bytes = typename V::Bytes;
  static constexpr size_t kLanes = V::kLanes;
  static constexpr uint32_t kGroupRows = 32;  // rows interleaved together
  // A vector that is longer than a group holds two neighbouring groups.
  static constexpr size_t kRows = std::max<size_t>(kGroupRows, sizeof(Bytes));
  static constexpr size_t kVectors = kRows / sizeof(Bytes);
  static constexpr size_t kFloats = kRows / kLanes;

  // The tables, blocks and sums of one row of activations.
  struct Token {
    const SumTable* tables;
    const ActivationBlock<V>* blocks;
    const int32_t* negative_sums;

    Token(const Activations& x, size_t token) {
      const size_t n_blocks = x.n_columns / kActivationBlock;
      tables = x.tables + token * x.n_columns / kTableColumns;
      blocks = activation_blocks<V>(x, token);
      negative_sums = x.negative_sums + token * n_blocks;
    }
  };

  static int32_t pair(int32_t first, int32_t second) {
    return static_cast<int32_t>(static_cast<uint32_t>(second) << 16 |
                                (static_cast<uint32_t>(first) & 0xffff));
  }

  // Fills the table of 4 codes and returns the sum of those below zero.
  template <class Code>
  static int32_t fill_table(const Code* x, SumTable& table) {
    const int32_t negative_sum = std::min<int32_t>(x[0], 0) + std::min<int32_t>(x[1], 0) +
                                 std::min<int32_t>(x[2], 0) + std::min<int32_t>(x[3], 0);
    const Int first = V::splat_int(pair(x[0], x[1]));
    const Int second = V::splat_int(pair(x[2], x[3]));
    Int low[kTableSums / kLanes];
    Int high[kTableSums / kLanes];
    for (size_t i = 0; i < kTableSums / kLanes; ++i) {
      Int sum = V::splat_int(-negative_sum);
      sum = V::dot_words(sum, V::load_ints(kSumBits[0] + 2 * i * kLanes), first);
      sum = V::dot_words(sum, V::load_ints(kSumBits[1] + 2 * i * kLanes), second);
      low[i] = V::bit_and(sum, V::splat_int(31));
      high[i] = V::shift_right(sum, 5);
    }
    V::store_16_bytes(table.low, low);
    V::store_16_bytes(table.high, high);
    return negative_sum;
  }

  static void tabulate(const Activations& x, size_t token) {
    const ActivationBlock<V>* block = activation_blocks<V>(x, token);
    SumTable* tables = x.tables + token * x.n_columns / kTableColumns;
    int32_t* negative_sums = x.negative_sums + token * x.n_columns / kActivationBlock;
    for (size_t i = 0; i < x.n_columns / kActivationBlock; ++i) {
      int32_t sum = 0;
      for (const auto& step : block[i].steps) sum += fill_table(step.codes, *tables++);
      negative_sums[i] = sum;
    }
  }

  // sums[r] = Σ code · x_code over the 32 columns of `part`, without the sums of negative codes
  // that rest() adds. If vectors hold two groups, the second is `next` bytes after the first.
  template <class Format>
  static void look_up_part(const std::byte* block, size_t next, const SumTable* tables, size_t part,
                           int16_t* sums) {
    // Browsers have registers for the tables, indexes and sums of two planes of bits.
    constexpr size_t kTogether = std::max<size_t>(kVectors / Format::kPlanes, 1);
    const std::byte* bytes = block + kGroupRows * Format::first_byte(part);
    KINGLET_AS_WRITTEN
    for (size_t v = 0; v < kVectors; v += kTogether) {
      look_up_vectors<Format, kTogether>(bytes + v * sizeof(Bytes), next, tables,
                                         sums + v * sizeof(Bytes));
    }
  }

  // The loop is not unrolled: the compiler would load all tables first, and browsers have no
  // registers to hold them.
  template <class Format, size_t N>
  static void look_up_vectors(const std::byte* bytes, size_t next, const SumTable* tables,
                              int16_t* sums) {
    constexpr size_t kPlanes = Format::kPlanes;
    Bytes low[kPlanes][N] = {};
    Bytes high[kPlanes][N] = {};
    const SumTable* const end = tables + kActivationBlock / kTableColumns;
    KINGLET_AS_WRITTEN
    for (; tables != end; tables += 2) {
      for (size_t plane = 0; plane < kPlanes; ++plane) {
        const std::byte* unit = bytes + plane * kGroupRows * Format::kNextPlane;
        for (size_t v = 0; v < N; ++v) {
          const Bytes bits = V::load_row_bytes(unit + v * sizeof(Bytes), next);
          const Bytes first = V::template move_bits<0, 0x0f>(bits);
          const Bytes second = V::template move_bits<-4, 0x0f>(bits);
          low[plane][v] = V::add_bytes(low[plane][v], V::look_up(tables[0].low, first));
          high[plane][v] = V::add_bytes(high[plane][v], V::look_up(tables[0].high, first));
          low[plane][v] = V::add_bytes(low[plane][v], V::look_up(tables[1].low, second));
          high[plane][v] = V::add_bytes(high[plane][v], V::look_up(tables[1].high, second));
        }
      }
      bytes += kGroupRows * Format::kNextColumns;
    }
    for (size_t v = 0; v < N; ++v) {
      Int totals[2];
      for (size_t plane = 0; plane < kPlanes; ++plane) {
        Int lows[2];
        Int highs[2];
        V::widen_bytes(low[plane][v], lows);
        V::widen_bytes(high[plane][v], highs);
        for (size_t half = 0; half < 2; ++half) {
          const Int words = V::add_words(lows[half], V::template shift_words<5>(highs[half]));
          totals[half] =
              plane == 0 ? words : V::add_words(totals[half], V::template shift_words<1>(words));
        }
      }
      V::store_vector(sums + v * sizeof(Bytes), totals[0]);
      V::store_vector(sums + v * sizeof(Bytes) + sizeof(Bytes) / 2, totals[1]);
    }
  }

  // Returns what the products of a block of weights and its activations still lack, before the
  // scale of the weights is applied: the sums of negative codes that the tables leave out, and the
  // weights' offset.
  template <class Format>
  static float rest(const Token& x, size_t first_part, size_t n_parts) {
    constexpr int32_t kLeftOut = Format::kFactor * ((1 << Format::kPlanes) - 1);
    float sum = 0.0f;
    for (size_t i = first_part; i < first_part + n_parts; ++i) {
      const int32_t codes = kLeftOut * x.negative_sums[i] - Format::kOffset * x.blocks[i].sum[0];
      sum += x.blocks[i].scale[0] * static_cast<float>(codes);
    }
    return sum;
  }

  // Computes the products of a group of rows, and of its neighbour if vectors hold both.
  template <class Format>
  static void multiply_group(const std::byte* group, size_t next, size_t n_columns, const Token& x,
                             Float (&products)[kFloats]) {
    using Block = typename Format::Block;
    constexpr size_t kParts = Block::kSize / kActivationBlock;
    constexpr size_t kBlockBytes = kGroupRows * sizeof(Block);
    constexpr size_t kPartBytes = kBlockBytes / kParts;
    constexpr size_t kAhead = 1024 * (1 + Format::kPlanes);  // as measured
    for (Float& product : products) product = V::splat(0.0f);
    for (size_t part = 0; part < n_columns / kActivationBlock; part += kParts) {
      const Float missing = V::splat(rest<Format>(x, part, kParts));
      Float totals[kFloats];
      for (Float& total : totals) total = missing;
      KINGLET_AS_WRITTEN
      for (size_t i = 0; i < kParts; ++i) {
        // Without this, the processor waits for the next page at the end of each page. One part is
        // prefetched at a time: it also waits if more prefetches are open than it can track.
        const std::byte* later = group + kAhead + i * kPartBytes;
        prefetch(later, kPartBytes);
        if constexpr (kRows > kGroupRows) prefetch(later + next, kPartBytes);
        alignas(sizeof(Bytes)) int16_t sums[kRows];
        const SumTable* tables = x.tables + (part + i) * (kActivationBlock / kTableColumns);
        look_up_part<Format>(group, next, tables, i, sums);
        const Float scale = V::splat(Format::kFactor * x.blocks[part + i].scale[0]);
        for (size_t j = 0; j < kFloats; ++j) {
          totals[j] = V::fma(V::small_to_float(V::load_int16(sums + j * kLanes)), scale, totals[j]);
        }
      }
      const std::byte* scales = group + kGroupRows * offsetof(Block, scale);
      for (size_t j = 0; j < kFloats; ++j) {
        const size_t row = j * kLanes;
        const std::byte* at = scales + row / kGroupRows * next + row % kGroupRows * sizeof(Half);
        products[j] = V::fma(totals[j], V::load_half(at), products[j]);
      }
      group += kBlockBytes;
    }
  }

  // Rows per chunk: a token's tables stay in the first-level cache for all rows of a chunk, and
  // these rows stay in the second-level cache for all tokens.
  static constexpr size_t kChunkRows = 256;

  template <class Format>
  static void multiply(const PackedMatrix& w, const Activations& x, size_t n_tokens, float* y,
                       size_t y_stride, size_t row_begin, size_t row_end) {
    const size_t row_bytes = dtype_info(w.type).row_bytes(w.n_columns);
    for (size_t chunk = row_begin; chunk < row_end; chunk += kChunkRows) {
      const size_t chunk_end = std::min(chunk + kChunkRows, row_end);
      for (size_t t = 0; t < n_tokens; ++t) {
        const Token token(x, t);
        for (size_t row = chunk; row < chunk_end; row += kRows) {
          const size_t n_rows = std::min(kRows, chunk_end - row);
          // The last group may have no neighbour; the vector then holds the same group twice.
          const size_t next = n_rows > kGroupRows ? kGroupRows * row_bytes : 0;
          Float products[kFloats];
          multiply_group<Format>(w.data + row * row_bytes, next, w.n_columns, token, products);
          for (size_t i = 0; i < n_rows / kLanes; ++i) {
            V::store(y + t * y_stride + row + i * kLanes, products[i]);
          }
        }
      }
    }
  }
};

}  // namespace kinglet
