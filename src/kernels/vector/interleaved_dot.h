// Dot products of interleaved rows with quantized activations, for the formats of
// vector/interleaved_formats.h.
//
// A format is unpacked in steps: step i gives columns 4 i … 4 i + 3 of every row. If bytes hold two
// codes, kWidth columns share their bytes, and the steps of both halves alternate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

#include "base/loops.h"
#include "kernels/kernels.h"
#include "kernels/vector/interleaved_formats.h"
#include "kernels/vector/interleaved_tile.h"

namespace kinglet {

// Sums must stay in registers, so all code that uses them is inlined into one function.
#define KINGLET_INLINE __attribute__((always_inline))

// Calls f(std::integral_constant<size_t, i>) for i < N, unrolled.
template <size_t N, class F>
KINGLET_INLINE inline void unroll(const F& f) {
  [&]<size_t... I>(std::index_sequence<I...>) KINGLET_INLINE {
    (f(std::integral_constant<size_t, I>()), ...);
  }
  (std::make_index_sequence<N>());
}

// The sums of a tile's tokens over N neighbouring blocks of activations of 8 steps each. V may
// specialize this to process several tokens at once.
template <class V, class Sum, size_t N, size_t T>
struct TokenSums {
  Sum sums[N][T];

  template <size_t Step, class Weights>
  KINGLET_INLINE void add(const Weights& w, const Tile<V, T>& tile, size_t x_block) {
    for (size_t t = 0; t < T; ++t) {
      const auto& x = tile.x[t][x_block + Step / 8];
      if constexpr (Sum::kConstantSteps) {
        sums[Step / 8][t].template add<Step % 8>(w, x.steps);
      } else {
        sums[Step / 8][t].template add<Step % 8>(w, x.steps[Step % 8]);
      }
    }
  }
  KINGLET_INLINE typename V::Int total(size_t block, size_t t) const {
    return sums[block][t].template total<V>();
  }
};

// Adds step Step of those that begin at `steps`.
template <size_t Step, class Dot, class Weights, class Codes>
KINGLET_INLINE inline void add_step(Dot& dot, const Weights& weights, const Codes* steps) {
  if constexpr (WantsConstantSteps<Dot>) {
    dot.template add<Step>(weights, steps);
  } else {
    dot.add(weights, steps[Step]);
  }
}

// Dot products for formats with a scale, and maybe a minimum, for every 32 columns:
// Σ w x = scale · x_scale · (Σ code · x_code − kOffset · Σ x_code) + minimum · x_scale · Σ x_code.
template <class Format>
struct BlockDot {
  static constexpr bool kHasMinimum = Format::kHasMinimum;

  template <class V, size_t T>
  KINGLET_INLINE static void accumulate(Tile<V, T>& tile) {
    using Block = typename Format::Block;
    for (size_t i = 0; i < tile.n_columns / Block::kSize; ++i) {
      const Format block(tile.group + i * V::kLanes * sizeof(Block));
      for (size_t part = 0; part < Block::kSize / Format::kWidth; ++part) {
        const size_t column = i * Block::kSize + part * Format::kWidth;
        accumulate_part(tile, block, part, column / kActivationBlock);
      }
    }
  }

 private:
  static constexpr size_t kScales = Format::kWidth / kActivationBlock;
  static constexpr size_t kSteps = kActivationBlock / 4;  // per scale
  template <class V, size_t T>
  using Sums = TokenSums<V, typename Format::Sum, kScales, T>;

  template <class V, size_t T>
  KINGLET_INLINE static void accumulate_part(Tile<V, T>& tile, const Format& block, size_t part,
                                             size_t x_block) {
    Sums<V, T> sums;
    if constexpr (V::kRollNibbles && T == 1 && kScales == 2) {
      roll_steps(tile, block, part, x_block, sums);
    } else if constexpr (Format::kSharesBytes) {
      unroll<Format::kWidth / 8>([&](auto step) KINGLET_INLINE {
        add_step<step>(tile, block, part, x_block, sums);
        add_step<step + Format::kWidth / 8>(tile, block, part, x_block, sums);
      });
    } else if constexpr (V::kRollSteps && T > 1) {
#pragma GCC unroll 1
      for (size_t step = 0; step < kSteps; ++step) {
        const auto codes = block.unpack(step);
        for (size_t t = 0; t < T; ++t) {
          sums.sums[0][t].parts[0].add(codes, tile.x[t][x_block].steps[step]);
        }
      }
    } else {
      unroll<kSteps>([&](auto step)
                         KINGLET_INLINE { add_step<step>(tile, block, part, x_block, sums); });
    }
    for (size_t i = 0; i < kScales; ++i) {
      add_scaled(tile, block, sums, i, part * kScales + i, x_block + i);
    }
  }

  // Unrolled, the compiler would load the bytes of all steps first, and browsers have no registers
  // to hold them.
  template <class V>
  KINGLET_INLINE static void roll_steps(const Tile<V, 1>& tile, const Format& block, size_t part,
                                        size_t x_block, Sums<V, 1>& sums) {
    constexpr size_t kParts = std::extent_v<decltype(Format::Sum::parts)>;
    const auto* x = tile.x[0] + x_block;
    unroll<kParts>([&](auto i) KINGLET_INLINE {
      KINGLET_AS_WRITTEN
      for (size_t step = i * kSteps / kParts; step < (i + 1) * kSteps / kParts; ++step) {
        sums.sums[0][0].parts[i].add(block.template unpack_step<false>(part, step),
                                     x[0].steps[step]);
        sums.sums[1][0].parts[i].add(block.template unpack_step<true>(part, step),
                                     x[1].steps[step]);
      }
    });
  }

  template <size_t Step, class V, size_t T>
  KINGLET_INLINE static void add_step(const Tile<V, T>& tile, const Format& block, size_t part,
                                      size_t x_block, Sums<V, T>& sums) {
    sums.template add<Step>(block.template unpack<Step>(part), tile, x_block);
  }

  template <class V, size_t T>
  KINGLET_INLINE static void add_scaled(Tile<V, T>& tile, const Format& block,
                                        const Sums<V, T>& sums, size_t i, size_t sub_block,
                                        size_t x_block) {
    const auto scale = block.scale(sub_block);
    for (size_t t = 0; t < T; ++t) {
      const ActivationBlock<V>& x = tile.x[t][x_block];
      auto& product = tile.products[t];
      auto sum = sums.total(i, t);
      if constexpr (Format::kOffset != 0) {
        sum = V::sub(sum, V::mul_int(V::broadcast_int(x.sum), V::splat_int(Format::kOffset)));
      }
      product = V::fma(V::to_float(sum), V::mul(scale, V::broadcast(x.scale)), product);
      if constexpr (Format::kHasMinimum) {
        product = V::fma(block.minimum(sub_block), V::broadcast(x.scaled_sum), product);
      }
    }
  }
};

// Dot products for formats of 256 columns with one float scale, and an integer scale s and maybe an
// integer minimum m for every 16 columns:
// Σ w x = scale · x_scale · Σ s (Σ code · x_code − kOffset · Σ x_code)
//         − minimum_scale · x_scale · Σ m Σ x_code.
template <class Format>
struct SubBlockDot {
  static constexpr bool kHasMinimum = Format::kHasMinimum;

  template <class V, size_t T>
  KINGLET_INLINE static void accumulate(Tile<V, T>& tile) {
    using Block = typename Format::Block;
    for (size_t i = 0; i < tile.n_columns / Block::kSize; ++i) {
      const Format block(tile.group + i * kBlockBytes<V>);
      for (size_t half = 0; half < 2; ++half) {
        const size_t x_block = (i * Block::kSize + half * Block::kSize / 2) / kActivationBlock;
        if constexpr (T == 1) {
          accumulate_half(tile, block, half, x_block);
        } else {
          unroll<4>([&](auto quarter) KINGLET_INLINE {
            accumulate_quarter<quarter>(tile, block, half, x_block + quarter);
          });
        }
      }
    }
  }

 private:
  template <class V>
  static constexpr size_t kBlockBytes = V::kLanes * sizeof(typename Format::Block);

  // The sums of 32 columns, over their sub-blocks, for each of T tokens.
  template <class V, size_t T>
  struct Totals {
    typename V::Int dots[T];
    typename V::Int minima[T];

    Totals() {
      for (size_t t = 0; t < T; ++t) minima[t] = dots[t] = V::splat_int(0);
    }
  };

  // 32 columns: two sub-blocks.
  template <size_t Quarter, class V, size_t T>
  KINGLET_INLINE static void accumulate_quarter(Tile<V, T>& tile, const Format& block, size_t half,
                                                size_t x_block) {
    Totals<V, T> totals;
    unroll<2>([&](auto i) KINGLET_INLINE {
      typename Format::Dot dots[T];
      unroll<4>([&](auto step) KINGLET_INLINE {
        const auto codes = block.template unpack<Quarter>(half, 4 * i + step);
        for (size_t t = 0; t < T; ++t) {
          add_step<step>(dots[t], codes, tile.x[t][x_block].steps + 4 * i);
        }
      });
      add_sub_block(tile, block, half * 8 + Quarter * 2 + i, dots, x_block, totals);
    });
    add_scaled(tile, block, totals, x_block);
  }

  // 128 columns of one token. Quarters share bytes, and all are summed together, unless a browser's
  // registers would not hold their sums.
  template <class V>
  KINGLET_INLINE static void accumulate_half(Tile<V, 1>& tile, const Format& block, size_t half,
                                             size_t x_block) {
    Totals<V, 1> totals[4];
    if constexpr (V::kRollSteps) {
      sum_quarters<0, 2>(tile, block, half, x_block, totals);
      sum_quarters<1, 3>(tile, block, half, x_block, totals);
    } else {
      sum_quarters<0, 1, 2, 3>(tile, block, half, x_block, totals);
    }
    for (size_t quarter = 0; quarter < 4; ++quarter) {
      add_scaled(tile, block, totals[quarter], x_block + quarter);
    }
  }

  // The loops of a browser are not unrolled: the compiler would load all bytes of one quarter
  // before the next one.
  template <size_t... Quarters, class V>
  KINGLET_INLINE static void sum_quarters(const Tile<V, 1>& tile, const Format& block, size_t half,
                                          size_t x_block, Totals<V, 1> (&totals)[4]) {
    const auto* x = tile.x[0] + x_block;
    KINGLET_AS_WRITTEN
    for (size_t i = 0; i < 2; ++i) {
      typename Format::Dot dots[4][1];
      if constexpr (V::kRollSteps) {
        KINGLET_AS_WRITTEN
        for (size_t unit = 4 * i; unit < 4 * i + 4; ++unit) {
          (dots[Quarters][0].add(block.template unpack<Quarters>(half, unit),
                                 x[Quarters].steps[unit]),
           ...);
        }
      } else {
        unroll<4>([&](auto step) KINGLET_INLINE {
          (add_step<step>(dots[Quarters][0], block.template unpack<Quarters>(half, 4 * i + step),
                          x[Quarters].steps + 4 * i),
           ...);
        });
      }
      const size_t sub_block = half * 8 + i;
      (add_sub_block(tile, block, sub_block + 2 * Quarters, dots[Quarters], x_block + Quarters,
                     totals[Quarters]),
       ...);
    }
  }

  template <class V, size_t T, class Dot>
  KINGLET_INLINE static void add_sub_block(const Tile<V, T>& tile, const Format& block,
                                           size_t sub_block, const Dot (&dots)[T], size_t x_block,
                                           Totals<V, T>& totals) {
    using Int = typename V::Int;
    const Int scale = block.sub_scale(sub_block);
    for (size_t t = 0; t < T; ++t) {
      const Int x_sum = V::broadcast_int(tile.x[t][x_block].half_sums[sub_block % 2]);
      Int dot = dots[t].sum();
      if constexpr (Format::kOffset != 0) {
        dot = V::sub(dot, V::mul_int(x_sum, V::splat_int(Format::kOffset)));
      }
      totals.dots[t] = V::add_int(totals.dots[t], V::mul_int(dot, scale));
      if constexpr (Format::kHasMinimum) {
        const Int minimum = V::mul_int(block.sub_minimum(sub_block), x_sum);
        totals.minima[t] = V::add_int(totals.minima[t], minimum);
      }
    }
  }

  template <class V, size_t T>
  KINGLET_INLINE static void add_scaled(Tile<V, T>& tile, const Format& block,
                                        const Totals<V, T>& totals, size_t x_block) {
    for (size_t t = 0; t < T; ++t) {
      auto& product = tile.products[t];
      const auto x_scale = V::broadcast(tile.x[t][x_block].scale);
      product = V::fma(V::to_float(totals.dots[t]), V::mul(block.scale(), x_scale), product);
      if constexpr (Format::kHasMinimum) {
        const auto minimum_scale = V::mul(block.minimum_scale(), x_scale);
        product = V::sub_float(product, V::mul(V::to_float(totals.minima[t]), minimum_scale));
      }
    }
  }
};

// Dot products for formats of 256 columns with one float scale and a whole-number scale s for every
// 16 or 32 columns, which are unpacked in parts of 32 columns, one after the other:
// Σ w x = scale · x_scale · Σ s (Σ code · x_code − kOffset · Σ x_code).
template <class Format>
struct PartDot {
  static constexpr bool kHasMinimum = false;

  template <class V, size_t T>
  KINGLET_INLINE static void accumulate(Tile<V, T>& tile) {
    using Block = typename Format::Block;
    constexpr size_t kParts = Block::kSize / kActivationBlock;
    for (size_t i = 0; i < tile.n_columns / Block::kSize; ++i) {
      Format block(tile.group + i * V::kLanes * sizeof(Block));
      const auto scale = block.scale();
      KINGLET_AS_WRITTEN
      for (size_t part = 0; part < kParts; ++part) {
        accumulate_part(tile, block.next_part(part), scale, i * kParts + part);
      }
    }
  }

 private:
  // Sums of 8 steps or of 4. The latter may have a scale each.
  static constexpr size_t kDots = Format::kDots;
  static constexpr size_t kSteps = 8 / kDots;

  template <class Part, class V, size_t T>
  KINGLET_INLINE static void accumulate_part(Tile<V, T>& tile, const Part& part,
                                             typename V::Float scale, size_t x_block) {
    typename V::Int totals[T];
    unroll<kDots>([&](auto i) KINGLET_INLINE {
      typename Format::Dot dots[T];
      unroll<kSteps>([&](auto step) KINGLET_INLINE {
        // Steps that share bytes follow each other.
        constexpr size_t kStep =
            kDots == 1 && Format::kSharesBytes ? step % 2 * 4 + step / 2 : step;
        const auto codes = part.template unpack<kSteps * i + kStep>();
        for (size_t t = 0; t < T; ++t) {
          add_step<kStep>(dots[t], codes, tile.x[t][x_block].steps + kSteps * i);
        }
      });
      for (size_t t = 0; t < T; ++t) {
        auto dot = dots[t].sum();
        if constexpr (Format::kSubBlocks == 2) {
          dot = V::mul_int(without_offset<V>(dot, tile.x[t][x_block].half_sums[i]), part.scales[i]);
        }
        totals[t] = i == 0 ? dot : V::add_int(totals[t], dot);
      }
    });
    if constexpr (Format::kSubBlocks == 1) {
      scale = V::mul(scale, V::small_to_float(part.scales[0]));
    }
    for (size_t t = 0; t < T; ++t) {
      const ActivationBlock<V>& x = tile.x[t][x_block];
      if constexpr (Format::kSubBlocks == 1) totals[t] = without_offset<V>(totals[t], x.sum);
      tile.products[t] =
          V::fma(V::to_float(totals[t]), V::mul(scale, V::broadcast(x.scale)), tile.products[t]);
    }
  }

  template <class V>
  KINGLET_INLINE static typename V::Int without_offset(typename V::Int dot,
                                                       const int32_t (&x_sum)[V::kCopies]) {
    if constexpr (Format::kOffset == 0) return dot;
    return V::sub(dot, V::mul_int(V::broadcast_int(x_sum), V::splat_int(Format::kOffset)));
  }
};

// Dot products for formats with a float scale for every 16 columns:
// Σ w x = scale · x_scale · (Σ code · x_code − kOffset · Σ x_code).
template <class Format>
struct HalfBlockDot {
  template <class V, size_t T>
  KINGLET_INLINE static void accumulate(Tile<V, T>& tile) {
    using Block = typename Format::Block;
    for (size_t i = 0; i < tile.n_columns / Block::kSize; ++i) {
      const Format block(tile.group + i * V::kLanes * sizeof(Block));
      for (size_t half = 0; half < Block::kSize / 16; ++half) {
        accumulate_half(tile, block, half, i * Block::kSize + half * 16);
      }
    }
  }

 private:
  template <class V, size_t T>
  KINGLET_INLINE static void accumulate_half(Tile<V, T>& tile, const Format& block, size_t half,
                                             size_t column) {
    typename Format::Dot dots[T];
    const size_t x_block = column / kActivationBlock;
    const size_t x_half = column / 16 % 2;
    unroll<4>([&](auto step) KINGLET_INLINE {
      const auto codes = block.template unpack<step>(half);
      for (size_t t = 0; t < T; ++t) {
        dots[t].add(codes, tile.x[t][x_block].steps[4 * x_half + step]);
      }
    });
    const auto scale = block.scale(half);
    for (size_t t = 0; t < T; ++t) {
      const auto offset = V::mul_int(V::broadcast_int(tile.x[t][x_block].half_sums[x_half]),
                                     V::splat_int(Format::kOffset));
      const auto x_scale = V::broadcast(tile.x[t][x_block].scale);
      tile.products[t] = V::fma(V::to_float(V::sub(dots[t].sum(), offset)), V::mul(scale, x_scale),
                                tile.products[t]);
    }
  }
};

// Dot products for formats of bit pairs with one scale:
// Σ w x = scale · x_scale · (Σ code · x_code − Σ x_code).
// The codes of odd pairs are four times as large (see InterleavedPairs), and so are their sums.
template <class Format>
struct PairDot {
  template <class V, size_t T>
  KINGLET_INLINE static void accumulate(Tile<V, T>& tile) {
    using Block = typename Format::Block;
    constexpr size_t kParts = Block::kSize / kActivationBlock;
    for (size_t i = 0; i < tile.n_columns / Block::kSize; ++i) {
      const Format block(tile.group + i * V::kLanes * sizeof(Block));
      const size_t x_block = i * kParts;
      if constexpr (Format::kUnitsHoldOnePart) {
        for (size_t part = 0; part < kParts; ++part) {
          accumulate_part(tile, block, 2 * part, x_block + part);
        }
      } else {
        for (size_t part = 0; part < kParts; part += 4) {
          accumulate_two_parts<0>(tile, block, 2 * part, x_block + part);
          accumulate_two_parts<2>(tile, block, 2 * part, x_block + part + 2);
        }
      }
    }
  }

 private:
  template <class V, size_t T>
  using Sums = typename V::NibbleDot[T];

  // 32 columns: all pairs of two units.
  template <class V, size_t T>
  KINGLET_INLINE static void accumulate_part(Tile<V, T>& tile, const Format& block,
                                             size_t first_unit, size_t x_block) {
    Sums<V, T> even;
    Sums<V, T> odd;
    unroll<2>([&](auto unit) KINGLET_INLINE {
      add(tile, block.template unpack<0>(first_unit + unit), x_block, 4 * unit, even);
      add(tile, block.template unpack<1>(first_unit + unit), x_block, 4 * unit + 1, odd);
      add(tile, block.template unpack<2>(first_unit + unit), x_block, 4 * unit + 2, even);
      add(tile, block.template unpack<3>(first_unit + unit), x_block, 4 * unit + 3, odd);
    });
    for (size_t t = 0; t < T; ++t) {
      const auto sum = V::add_int(V::shift_left(even[t].sum(), 2), odd[t].sum());
      add_scaled<4>(tile, t, block, sum, x_block);
    }
  }

  // Twice 32 columns: one even and one odd pair of eight units.
  template <size_t Even, class V, size_t T>
  KINGLET_INLINE static void accumulate_two_parts(Tile<V, T>& tile, const Format& block,
                                                  size_t first_unit, size_t x_block) {
    Sums<V, T> even;
    Sums<V, T> odd;
    unroll<8>([&](auto unit) KINGLET_INLINE {
      add(tile, block.template unpack<Even>(first_unit + unit), x_block, unit, even);
      add(tile, block.template unpack<Even + 1>(first_unit + unit), x_block + 1, unit, odd);
    });
    for (size_t t = 0; t < T; ++t) {
      add_scaled<1>(tile, t, block, even[t].sum(), x_block);
      add_scaled<4>(tile, t, block, odd[t].sum(), x_block + 1);
    }
  }

  template <class V, size_t T>
  KINGLET_INLINE static void add(const Tile<V, T>& tile, const typename V::Unsigned& codes,
                                 size_t x_block, size_t step, Sums<V, T>& sums) {
    for (size_t t = 0; t < T; ++t) sums[t].add(codes, tile.x[t][x_block].steps[step]);
  }

  // `sum` is kFactor times too large.
  template <int32_t kFactor, class V, size_t T>
  KINGLET_INLINE static void add_scaled(Tile<V, T>& tile, size_t t, const Format& block,
                                        typename V::Int sum, size_t x_block) {
    const ActivationBlock<V>& x = tile.x[t][x_block];
    const auto offset = V::mul_int(V::broadcast_int(x.sum), V::splat_int(kFactor));
    const auto scale =
        V::mul(V::mul(block.scale(), V::splat(1.0f / kFactor)), V::broadcast(x.scale));
    tile.products[t] = V::fma(V::to_float(V::sub(sum, offset)), scale, tile.products[t]);
  }
};

// Dot products for formats of digits 0, 1 and 2 in base 3, with one scale:
// Σ w x = scale · x_scale · (Σ digit · x_code − Σ x_code).
template <class Format>
struct TernaryDot {
  template <class V, size_t T>
  KINGLET_INLINE static void accumulate(Tile<V, T>& tile) {
    using Block = typename Format::Block;
    for (size_t i = 0; i < tile.n_columns / Block::kSize; ++i) {
      const Format block(tile.group + i * V::kLanes * sizeof(Block));
      const size_t column = i * Block::kSize;
      Sums<V, T> sums;
      unroll<std::size(Format::kRuns)>(
          [&](auto run) KINGLET_INLINE { add_run<run>(tile, block, column, sums); });
      if constexpr (Format::kPairSteps > 0) {
        constexpr size_t kPairs = Block::kSize - 4 * Format::kPairSteps;  // their first column
        unroll<Format::kPairSteps>([&](auto step) KINGLET_INLINE {
          add(tile, block.template unpack_pairs<step>(), column + kPairs + 4 * step,
              sums[kParts - 1]);
        });
      }
      add_scaled(tile, block, column / kActivationBlock, sums);
    }
  }

 private:
  static constexpr size_t kParts = Format::Block::kSize / kActivationBlock;
  template <class V, size_t T>
  using Sums = typename V::NibbleDot[kParts][T];

  // Each byte is a fraction: multiplied by 3, its carry is the next digit.
  template <size_t Run, class V, size_t T>
  KINGLET_INLINE static void add_run(const Tile<V, T>& tile, const Format& block, size_t column,
                                     Sums<V, T>& sums) {
    constexpr DigitRun kRun = Format::kRuns[Run];
#pragma GCC unroll 1
    for (size_t byte = 0; byte < kRun.n_bytes; byte += 4) {
      auto fractions = block.bytes_at(kRun.first_byte + byte);
      unroll<kRun.n_digits>([&](auto digit) KINGLET_INLINE {
        constexpr size_t kColumn = kRun.first_column + digit * kRun.n_bytes;
        add(tile, V::as_unsigned(V::carries_of_3(fractions)), column + kColumn + byte,
            sums[kColumn / kActivationBlock]);
        fractions = V::add_bytes(V::add_bytes(fractions, fractions), fractions);
      });
    }
  }

  template <class V, size_t T>
  KINGLET_INLINE static void add(const Tile<V, T>& tile, const typename V::Unsigned& codes,
                                 size_t column, typename V::NibbleDot (&sums)[T]) {
    for (size_t t = 0; t < T; ++t) {
      const auto& x = tile.x[t][column / kActivationBlock];
      sums[t].add(codes, x.steps[column % kActivationBlock / 4]);
    }
  }

  template <class V, size_t T>
  KINGLET_INLINE static void add_scaled(Tile<V, T>& tile, const Format& block, size_t x_block,
                                        const Sums<V, T>& sums) {
    const auto scale = block.half_at(offsetof(typename Format::Block, scale));
    for (size_t i = 0; i < kParts; ++i) {
      for (size_t t = 0; t < T; ++t) {
        const ActivationBlock<V>& x = tile.x[t][x_block + i];
        const auto sum = V::sub(sums[i][t].sum(), V::broadcast_int(x.sum));
        const auto x_scale = V::broadcast(x.scale);
        tile.products[t] = V::fma(V::to_float(sum), V::mul(scale, x_scale), tile.products[t]);
      }
    }
  }
};

#undef KINGLET_INLINE

}  // namespace kinglet
