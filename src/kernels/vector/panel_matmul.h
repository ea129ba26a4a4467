// Matrix multiplication for several tokens, for vector types V (see vector_type.h) that multiply
// 16-bit words at least as fast as bytes.
//
// A panel is a part of a matrix whose weights are unpacked once for all tokens. They are whole
// numbers in words, in the order in which the innermost loop reads them, so this loop only loads,
// multiplies and adds. The results are the same as those of vector/interleaved_dot.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/loops.h"
#include "kernels/activation_block.h"
#include "kernels/kernels.h"
#include "kernels/vector/interleaved_dot.h"

namespace kinglet {

// Whether a format unpacks any quarter with the same code: the code is smaller, and slower, which
// hardly matters for several tokens.
template <class Format>
concept HasAnyUnpack = requires {
  &Format::unpack_any;
};

template <class V>
struct PanelMatmul {
  using Float = typename V::Float;
  using Int = typename V::Int;
  using Words = typename V::Words;  // unpacks codes
  static constexpr size_t kLanes = V::kLanes;
  // A panel stays in the second-level cache, and a tile's activations in the first-level cache.
  // Columns are a multiple of every type's block size.
  static constexpr size_t kMostWords = size_t{64} << 10;
  static constexpr size_t kMostColumns = 2048;
  // The sums of a tile fit into 15 registers, with all that a step reads.
  static constexpr size_t kTileGroups = 2;
  static constexpr size_t kTileTokens = 4;

  // The weights of two groups of rows. A lane holds two neighbouring columns of a row.
  struct WeightPairs {
    Int groups[kTileGroups];
  };
  // The scales of two groups for a block of activations.
  struct Scales {
    Float scales[kTileGroups];
    Float minima[kTileGroups];
  };
  struct Panel {
    size_t n_columns;
    WeightPairs pairs[kMostWords / (2 * kLanes * kTileGroups)];
    Scales scales[kMostWords / (kActivationBlock * kLanes * kTileGroups)];

    WeightPairs* pairs_of(size_t group) { return pairs + group / kTileGroups * n_columns / 2; }
    Scales* scales_of(size_t group) {
      return scales + group / kTileGroups * n_columns / kActivationBlock;
    }
  };
  // The activations of a tile. A lane holds two neighbouring columns of a token.
  struct TileCodes {
    Int pairs[kMostColumns / 2];
    const ActivationBlock<V>* blocks[kTileTokens];
  };

  // --- Unpacking ---------------------------------------------------------------------------------

  template <class Format>
  static void unpack_group(BlockDot<Format> /*dot*/, const std::byte* blocks, Panel& panel,
                           size_t group) {
    using Block = typename Format::Block;
    constexpr size_t kScales = Format::kWidth / kActivationBlock;
    const size_t which = group % kTileGroups;
    WeightPairs* pairs = panel.pairs_of(group);
    Scales* scales = panel.scales_of(group);
    for (size_t i = 0; i < panel.n_columns / Block::kSize; ++i) {
      const Format block(blocks + i * kLanes * sizeof(Block));
      KINGLET_AS_WRITTEN
      for (size_t part = 0; part < Block::kSize / Format::kWidth; ++part) {
        const auto store = [&](size_t step, const auto& words) {
          for (size_t j = 0; j < 2; ++j) {
            pairs[2 * step + j].groups[which] =
                Words::sub_words(words.pairs[j], Words::splat_word(Format::kOffset));
          }
        };
        unroll<Format::kWidth / 4>(
            [&](auto step) { store(step, block.template unpack<step>(part)); });
        pairs += Format::kWidth / 2;
        for (size_t sub_block = part * kScales; sub_block < (part + 1) * kScales; ++sub_block) {
          scales->scales[which] = block.scale(sub_block);
          if constexpr (Format::kHasMinimum) scales->minima[which] = block.minimum(sub_block);
          ++scales;
        }
      }
    }
  }

  // The scales of sub-blocks are whole numbers: they are multiplied by the codes.
  template <class Format>
  static void unpack_group(SubBlockDot<Format> /*dot*/, const std::byte* blocks, Panel& panel,
                           size_t group) {
    using Block = typename Format::Block;
    static_assert(!Format::kHasMinimum);
    const size_t which = group % kTileGroups;
    WeightPairs* pairs = panel.pairs_of(group);
    Scales* scales = panel.scales_of(group);
    for (size_t i = 0; i < panel.n_columns / Block::kSize; ++i) {
      const Format block(blocks + i * kLanes * sizeof(Block));
      KINGLET_AS_WRITTEN
      for (size_t half = 0; half < 2; ++half) {
        const auto unpack_quarter = [&](auto quarter, const auto& unpack) {
          KINGLET_AS_WRITTEN
          for (size_t sub_block = 0; sub_block < 2; ++sub_block) {
            const Int scale = Words::twice(block.sub_scale(half * 8 + quarter * 2 + sub_block));
            KINGLET_AS_WRITTEN
            for (size_t unit = 4 * sub_block; unit < 4 * sub_block + 4; ++unit) {
              const auto words = unpack(unit);
              for (const Int pair : words.pairs) {
                const Int codes = Words::sub_words(pair, Words::splat_word(Format::kOffset));
                pairs++->groups[which] = Words::mul_words(codes, scale);
              }
            }
          }
        };
        if constexpr (HasAnyUnpack<Format>) {
          KINGLET_AS_WRITTEN
          for (size_t quarter = 0; quarter < 4; ++quarter) {
            unpack_quarter(quarter,
                           [&](size_t unit) { return block.unpack_any(half, unit, quarter); });
          }
        } else {
          unroll<4>([&](auto quarter) {
            unpack_quarter(quarter,
                           [&](size_t unit) { return block.template unpack<quarter>(half, unit); });
          });
        }
      }
      const Float scale = block.scale();
      KINGLET_AS_WRITTEN
      for (size_t j = 0; j < Block::kSize / kActivationBlock; ++j) scales++->scales[which] = scale;
    }
  }

  template <class Format>
  static void unpack_group(PartDot<Format> /*dot*/, const std::byte* blocks, Panel& panel,
                           size_t group) {
    using Block = typename Format::Block;
    const size_t which = group % kTileGroups;
    WeightPairs* pairs = panel.pairs_of(group);
    Scales* scales = panel.scales_of(group);
    for (size_t i = 0; i < panel.n_columns / Block::kSize; ++i) {
      Format block(blocks + i * kLanes * sizeof(Block));
      const Float scale = block.scale();
      KINGLET_AS_WRITTEN
      for (size_t j = 0; j < Block::kSize / kActivationBlock; ++j) {
        const auto part = block.next_part(j);
        unroll<8>([&](auto step) {
          const auto words = part.template unpack<step>();
          for (const Int pair : words.pairs) {
            Int codes = Words::sub_words(pair, Words::splat_word(Format::kOffset));
            if constexpr (Format::kSubBlocks == 2) {
              codes = Words::mul_words(codes, Words::twice(part.scales[step / 4]));
            }
            pairs++->groups[which] = codes;
          }
        });
        if constexpr (Format::kSubBlocks == 1) {
          scales++->scales[which] = V::mul(scale, V::small_to_float(part.scales[0]));
        } else {
          scales++->scales[which] = scale;
        }
      }
    }
  }

  static void load_codes(const Activations& x, size_t token, size_t column, size_t n_columns,
                         TileCodes& codes) {
    for (size_t t = 0; t < kTileTokens; ++t) {
      codes.blocks[t] = activation_blocks<V>(x, token + t) + column / kActivationBlock;
    }
    Int* pairs = codes.pairs;
    for (size_t i = 0; i < n_columns / kActivationBlock; ++i) {
      KINGLET_AS_WRITTEN
      for (size_t step = 0; step < kActivationBlock / 4; step += 2) {
        Int even[2];
        Int odd[2];
        V::interleave(V::load_two_steps(codes.blocks[0][i].steps + step),
                      V::load_two_steps(codes.blocks[2][i].steps + step), even);
        V::interleave(V::load_two_steps(codes.blocks[1][i].steps + step),
                      V::load_two_steps(codes.blocks[3][i].steps + step), odd);
        V::interleave(even[0], odd[0], pairs);
        V::interleave(even[1], odd[1], pairs + 2);
        pairs += 4;
      }
    }
  }

  // --- Multiplying -------------------------------------------------------------------------------

  template <bool kHasMinimum>
  static void multiply_tile(const WeightPairs* weights, const Scales* scales, const TileCodes& x,
                            size_t n_columns, Float (&products)[kTileGroups][kTileTokens]) {
    const Int* codes = x.pairs;
    for (size_t block = 0; block < n_columns / kActivationBlock; ++block) {
      Int sums[kTileGroups][kTileTokens];
      for (auto& of_group : sums) std::fill_n(of_group, kTileTokens, V::splat_int(0));
      const Int* end = codes + kActivationBlock / 2;
      // If this is unrolled, compilers add the products of one sum after the other, so that all
      // that was loaded must be kept, which takes too many registers.
      KINGLET_AS_WRITTEN
      for (; codes != end; ++codes) {
        for (size_t t = 0; t < kTileTokens; ++t) {
          const Int pair = V::splat_lane(codes, t);
          for (size_t g = 0; g < kTileGroups; ++g) {
            sums[g][t] = V::dot_words(sums[g][t], weights->groups[g], pair);
          }
        }
        ++weights;
      }
      for (size_t t = 0; t < kTileTokens; ++t) {
        const ActivationBlock<V>& of_token = x.blocks[t][block];
        const Float x_scale = V::broadcast(of_token.scale);
        for (size_t g = 0; g < kTileGroups; ++g) {
          Float& product = products[g][t];
          product = V::fma(V::to_float(sums[g][t]), V::mul(scales->scales[g], x_scale), product);
          if constexpr (kHasMinimum) {
            product = V::fma(scales->minima[g], V::broadcast(of_token.scaled_sum), product);
          }
        }
      }
      ++scales;
    }
  }

  // Adds the products of a panel and all tokens to y, which points to its first row; the products
  // of a matrix's first columns replace what is there. Not inlined, so that all types share the
  // code.
  template <bool kHasMinimum>
  __attribute__((noinline)) static void multiply_panel(Panel& panel, size_t n_groups,
                                                       const Activations& x, size_t n_tokens,
                                                       size_t column, float* y, size_t y_stride) {
    TileCodes codes;
    for (size_t token = 0; token < n_tokens; token += kTileTokens) {
      load_codes(x, token, column, panel.n_columns, codes);
      for (size_t group = 0; group < n_groups; group += kTileGroups) {
        float* out = y + token * y_stride + group * kLanes;
        // If the number of groups is odd, the last tile computes something that is not stored.
        const size_t groups_here = std::min(kTileGroups, n_groups - group);
        Float products[kTileGroups][kTileTokens];
        for (auto& of_group : products) std::fill_n(of_group, kTileTokens, V::splat(0.0f));
        for (size_t g = 0; column > 0 && g < groups_here; ++g) {
          for (size_t t = 0; t < kTileTokens; ++t) {
            products[g][t] = V::load(out + t * y_stride + g * kLanes);
          }
        }
        multiply_tile<kHasMinimum>(panel.pairs_of(group), panel.scales_of(group), codes,
                                   panel.n_columns, products);
        for (size_t g = 0; g < groups_here; ++g) {
          for (size_t t = 0; t < kTileTokens; ++t) {
            V::store(out + t * y_stride + g * kLanes, products[g][t]);
          }
        }
      }
    }
  }

  // n_tokens is a multiple of kTileTokens. Not inlined, so that vector types can share the code.
  template <class Dot>
  __attribute__((noinline)) static void multiply(const PackedMatrix& w, const Activations& x,
                                                 size_t n_tokens, float* y, size_t y_stride,
                                                 size_t row_begin, size_t row_end) {
    const DTypeInfo& type = dtype_info(w.type);
    const size_t group_bytes = kLanes * type.row_bytes(w.n_columns);
    const size_t end = row_end / kLanes;
    Panel panel;
    for (size_t column = 0; column < w.n_columns; column += kMostColumns) {
      panel.n_columns = std::min(kMostColumns, w.n_columns - column);
      const size_t n_fit = kMostWords / panel.n_columns / (kTileGroups * kLanes) * kTileGroups;
      for (size_t group = row_begin / kLanes; group < end; group += n_fit) {
        const size_t n_groups = std::min(n_fit, end - group);
        const std::byte* blocks = w.data + group * group_bytes + kLanes * type.row_bytes(column);
        for (size_t g = 0; g < n_groups; ++g, blocks += group_bytes) {
          unpack_group(Dot(), blocks, panel, g);
        }
        multiply_panel<Dot::kHasMinimum>(panel, n_groups, x, n_tokens, column, y + group * kLanes,
                                         y_stride);
      }
    }
  }
};

}  // namespace kinglet
