// Attention over every kind of cache, with every kernel set, compared with its definition in double
// precision.
#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernel_support.h"

namespace kinglet {
namespace {

// The keys or the values of one head in pages. The rows of another head are between its rows.
struct Side {
  const KvKindInfo& kind;
  size_t head_dim;
  size_t page_positions;
  size_t n_pages;
  size_t page_bytes;
  std::vector<float> memory;  // floats, for alignment

  Side(KvKind k, size_t dim, size_t positions, size_t pages)
      : kind(kv_kind_info(k)),
        head_dim(dim),
        page_positions(positions),
        n_pages(pages),
        page_bytes((2 * positions * (code_bytes() + n_scales() * 4) + 3) / 4 * 4),
        memory(page_bytes / 4 * pages) {
    // Bytes that belong to no row must not matter.
    std::fill(memory.begin(), memory.end(), std::numeric_limits<float>::quiet_NaN());
  }

  size_t code_bytes() const { return static_cast<size_t>(kind.code_bytes(head_dim)); }
  size_t n_scales() const { return static_cast<size_t>(kind.n_scales(head_dim)); }

  std::byte* page(size_t index) {
    return reinterpret_cast<std::byte*>(memory.data()) + index * page_bytes;
  }
  KvHead head() {
    // The scales come first, so codes may begin at any byte.
    return {kind.kind,
            {page(0) + 2 * page_positions * n_scales() * 4, 2 * code_bytes(),
             reinterpret_cast<const float*>(page(0)), 2 * n_scales()}};
  }
  void write(size_t page_index, size_t row, const float* values) {
    auto* scales = reinterpret_cast<float*>(page(page_index)) + row * 2 * n_scales();
    std::byte* codes =
        page(page_index) + 2 * page_positions * n_scales() * 4 + row * 2 * code_bytes();
    kind.write_row(values, head_dim, codes, scales);
  }
  std::vector<float> read(size_t page_index, size_t row) {
    std::vector<float> out(head_dim);
    kind.read_row(page(page_index) + 2 * page_positions * n_scales() * 4 + row * 2 * code_bytes(),
                  reinterpret_cast<const float*>(page(page_index)) + row * 2 * n_scales(), 0,
                  head_dim, out.data());
    return out;
  }
};

// A cache of random rows, and the expected result of attention over it.
class Cache {
 public:
  Cache(KvKind k_kind, KvKind v_kind, size_t head_dim, size_t n_positions, size_t page_positions,
        Random& random)
      : head_dim_(head_dim),
        page_positions_(page_positions),
        keys_(k_kind, head_dim, page_positions,
              (n_positions + page_positions - 1) / page_positions),
        values_(v_kind, head_dim, page_positions, keys_.n_pages) {
    // Pages of keys and pages of values have the same size.
    const size_t page_bytes = std::max(keys_.page_bytes, values_.page_bytes);
    for (Side* side : {&keys_, &values_}) {
      side->page_bytes = page_bytes;
      side->memory.resize(page_bytes / 4 * side->n_pages);
    }
    for (size_t i = keys_.n_pages; i > 0; --i) pages_.push_back(static_cast<uint32_t>(i - 1));
    for (size_t p = 0; p < n_positions; ++p) {
      keys_.write(pages_[p / page_positions], p % page_positions, numbers(head_dim, random).data());
      values_.write(pages_[p / page_positions], p % page_positions,
                    numbers(head_dim, random).data());
    }
  }

  KvView view() {
    return {keys_.head(), values_.head(), pages_.data(), page_positions_, keys_.page_bytes};
  }

  // softmax(softcap(scale * query · keys) - slope * distance from `own`) · values over
  // [begin, end).
  std::vector<double> attend(const float* query, size_t begin, size_t end, double scale,
                             double softcap, size_t own = 0, double slope = 0) {
    std::vector<double> scores;
    for (size_t p = begin; p < end; ++p) {
      const auto key = keys_.read(pages_[p / page_positions_], p % page_positions_);
      double score = 0;
      for (size_t i = 0; i < head_dim_; ++i) {
        score += static_cast<double>(query[i]) * static_cast<double>(key[i]) * scale;
      }
      scores.push_back(softcap > 0 ? softcap * std::tanh(score / softcap) : score);
      scores.back() -= slope * static_cast<double>(p > own ? p - own : own - p);
    }
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& score : scores) sum += score = std::exp(score - largest);
    std::vector<double> output(head_dim_);
    for (size_t p = begin; p < end; ++p) {
      const auto value = values_.read(pages_[p / page_positions_], p % page_positions_);
      for (size_t i = 0; i < head_dim_; ++i) {
        output[i] += scores[p - begin] / sum * static_cast<double>(value[i]);
      }
    }
    return output;
  }

 private:
  size_t head_dim_;
  size_t page_positions_;
  Side keys_;
  Side values_;
  std::vector<uint32_t> pages_;
};

struct AttentionShape {
  size_t head_dim;
  size_t n_positions;  // including the last token's
  size_t n_tokens;
  size_t n_heads;
  size_t window = 0;
  float softcap = 0;
};

class Attention : public testing::TestWithParam<const KernelSet*> {
 protected:
  const KernelSet& kernels() const { return *GetParam(); }

  std::vector<float> attend(const AttentionShape& shape, const std::vector<float>& queries,
                            const KvView& view) {
    std::vector<float> output(queries.size(), NAN);
    std::vector<float> scratch(attention_scratch_bytes(shape.head_dim) / sizeof(float));
    kinglet::attend(kernels(),
                    {.queries = queries.data(),
                     .output = output.data(),
                     .token_stride = shape.n_heads * shape.head_dim,
                     .n_tokens = shape.n_tokens,
                     .n_heads = shape.n_heads,
                     .head_dim = shape.head_dim,
                     .position = shape.n_positions - shape.n_tokens,
                     .window = shape.window,
                     .scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim)),
                     .softcap = shape.softcap},
                    view, reinterpret_cast<std::byte*>(scratch.data()));
    return output;
  }

  // Attention for all n tokens of a text, in tiles of at most n_together.
  std::vector<float> attend_text(const std::vector<float>& queries, const KvView& view,
                                 size_t n_heads, size_t head_dim, size_t n, size_t window,
                                 const float* slopes, size_t n_together) {
    std::vector<float> output(queries.size(), NAN);
    std::vector<float> scratch(attention_scratch_bytes(head_dim) / sizeof(float));
    const size_t width = n_heads * head_dim;
    for (size_t first = 0; first < n; first += n_together) {
      kinglet::attend(kernels(),
                      {.queries = queries.data() + first * width,
                       .output = output.data() + first * width,
                       .token_stride = width,
                       .n_tokens = std::min(n_together, n - first),
                       .n_heads = n_heads,
                       .head_dim = head_dim,
                       .position = first,
                       .window = window,
                       .scale = 1.0f / std::sqrt(static_cast<float>(head_dim)),
                       .softcap = 0,
                       .n_positions = n,
                       .slopes = slopes},
                      view, reinterpret_cast<std::byte*>(scratch.data()));
    }
    return output;
  }

  void check(KvKind k_kind, KvKind v_kind, const AttentionShape& shape, size_t page_positions) {
    Cache cache(k_kind, v_kind, shape.head_dim, shape.n_positions, page_positions, random_);
    const auto queries = numbers(shape.n_tokens * shape.n_heads * shape.head_dim, random_, 2.0f);
    const auto output = attend(shape, queries, cache.view());
    for (size_t row = 0; row < shape.n_tokens * shape.n_heads; ++row) {
      const size_t end = shape.n_positions - shape.n_tokens + row / shape.n_heads + 1;
      const size_t begin = shape.window == 0 || end < shape.window ? 0 : end - shape.window;
      const auto expected = cache.attend(queries.data() + row * shape.head_dim, begin, end,
                                         1 / std::sqrt(static_cast<double>(shape.head_dim)),
                                         static_cast<double>(shape.softcap));
      for (size_t i = 0; i < shape.head_dim; ++i) {
        ASSERT_NEAR(output[row * shape.head_dim + i], expected[i], 5e-4)
            << kv_kind_info(k_kind).name << ", " << kv_kind_info(v_kind).name << ", head_dim "
            << shape.head_dim << ", " << shape.n_positions << " positions, row " << row
            << ", element " << i;
      }
    }
  }

  Random random_{11};
};

TEST_P(Attention, IsItsDefinitionForEveryPairOfKinds) {
  for (size_t k = 0; k < kNKvKinds; ++k) {
    for (size_t v = 0; v < kNKvKinds; ++v) {
      const AttentionShape shape{.head_dim = 64, .n_positions = 70, .n_tokens = 1, .n_heads = 3};
      check(static_cast<KvKind>(k), static_cast<KvKind>(v), shape, 80);
    }
  }
}

TEST_P(Attention, WhatIsNotFiniteInAQueryStaysVisible) {
  for (size_t kind = 0; kind < kNKvKinds; ++kind) {
    for (const size_t head_dim : {5u, 32u, 67u, 128u}) {
      const AttentionShape shape{
          .head_dim = head_dim, .n_positions = 9, .n_tokens = 2, .n_heads = 1};
      const auto any = static_cast<KvKind>(kind);
      Cache cache(any, any, head_dim, shape.n_positions, 16, random_);
      const auto queries = numbers(2 * head_dim, random_);
      const auto expected = attend(shape, queries, cache.view());
      for (const float bad : {NAN, INFINITY}) {
        for (size_t at = 0; at < head_dim; ++at) {
          auto damaged = queries;
          damaged[head_dim + at] = bad;
          const auto output = attend(shape, damaged, cache.view());
          for (size_t i = 0; i < head_dim; ++i) {
            ASSERT_EQ(output[i], expected[i]) << kv_kind_info(any).name << " " << at;
            ASSERT_TRUE(std::isnan(output[head_dim + i])) << kv_kind_info(any).name << " " << at;
          }
        }
      }
    }
  }
}

TEST_P(Attention, TakesAnyHeadSize) {
  for (size_t kind = 0; kind < kNKvKinds; ++kind) {
    for (const size_t head_dim : {1u, 4u, 20u, 31u, 33u, 80u, 96u, 256u, 600u}) {
      const AttentionShape shape{
          .head_dim = head_dim, .n_positions = 9, .n_tokens = 2, .n_heads = 2};
      check(static_cast<KvKind>(kind), static_cast<KvKind>(kind), shape, 9);
    }
  }
}

TEST_P(Attention, TakesAnyNumberOfHeadsAndTokens) {
  for (const KvKind kind : {KvKind::f32, KvKind::f16, KvKind::fp8_e4m3, KvKind::int8, KvKind::q4}) {
    for (const size_t n_heads : {1u, 2u, 4u, 5u, 7u, 16u, 20u}) {
      for (const size_t n_tokens : {1u, 3u, 8u}) {
        const AttentionShape shape{
            .head_dim = 32, .n_positions = 66, .n_tokens = n_tokens, .n_heads = n_heads};
        check(kind, kind, shape, 66);
      }
    }
  }
}

TEST_P(Attention, ReadsPagesInTheOrderOfTheTable) {
  for (size_t kind = 0; kind < kNKvKinds; ++kind) {
    for (const size_t page_positions : {1u, 3u, 16u, 64u, 100u}) {
      const AttentionShape shape{.head_dim = 32, .n_positions = 150, .n_tokens = 3, .n_heads = 2};
      check(static_cast<KvKind>(kind), static_cast<KvKind>(kind), shape, page_positions);
    }
  }
}

// So sessions of a pool give the same answers as sessions of their own, bit for bit.
TEST_P(Attention, GivesTheSameNumbersWithPagesOfAnySize) {
  for (size_t i = 0; i < kNKvKinds; ++i) {
    const auto kind = static_cast<KvKind>(i);
    for (const size_t head_dim : {20u, 64u}) {
      for (const size_t window : {0u, 70u}) {
        const AttentionShape shape{.head_dim = head_dim,
                                   .n_positions = 150,
                                   .n_tokens = 3,
                                   .n_heads = 2,
                                   .window = window};
        const auto queries = numbers(shape.n_tokens * shape.n_heads * head_dim, random_, 2.0f);
        const auto in_pages_of = [&](size_t page_positions) {
          Random rows{5};
          Cache cache(kind, kind, head_dim, shape.n_positions, page_positions, rows);
          return attend(shape, queries, cache.view());
        };
        const auto whole = in_pages_of(150);
        for (const size_t page_positions : {1u, 3u, 16u, 32u, 40u, 64u, 100u}) {
          EXPECT_EQ(in_pages_of(page_positions), whole)
              << kv_kind_info(kind).name << ", pages of " << page_positions;
        }
      }
    }
  }
}

TEST_P(Attention, IgnoresWhatIsBeforeItsWindow) {
  for (const KvKind kind : {KvKind::f32, KvKind::int8, KvKind::q8}) {
    for (const size_t window : {1u, 5u, 64u, 99u, 100u, 500u}) {
      const AttentionShape shape{
          .head_dim = 32, .n_positions = 100, .n_tokens = 4, .n_heads = 3, .window = window};
      check(kind, kind, shape, 128);
      check(kind, kind, shape, 16);
    }
  }
}

TEST_P(Attention, CapsItsScores) {
  const AttentionShape shape{
      .head_dim = 64, .n_positions = 90, .n_tokens = 2, .n_heads = 2, .softcap = 0.7f};
  check(KvKind::f32, KvKind::f32, shape, 90);
  check(KvKind::int8, KvKind::f16, shape, 90);
}

// Texts of any length whose tokens also see later tokens, with windows and with ALiBi.
TEST_P(Attention, OfATextSeesBothDirections) {
  constexpr size_t kHeads = 3;
  const float slopes[kHeads] = {0.5f, 0.25f, 0.01f};
  const std::pair<size_t, size_t> shapes[] = {{1, 20}, {5, 64}, {64, 20}, {65, 32}, {200, 20}};
  for (const auto& [n, dim] : shapes) {
    Cache cache(KvKind::f32, KvKind::f32, dim, n, n, random_);
    const auto queries = numbers(n * kHeads * dim, random_, 2.0f);
    for (const size_t window : {0u, 1u, 6u, 11u, 130u, 1000u}) {
      for (const float* slope : {static_cast<const float*>(nullptr), slopes}) {
        const auto output = attend_text(queries, cache.view(), kHeads, dim, n, window, slope, n);
        for (size_t row = 0; row < n * kHeads; ++row) {
          const size_t own = row / kHeads;
          const size_t reach = window == 0 ? n : window / 2;
          const auto expected =
              cache.attend(queries.data() + row * dim, own - std::min(own, reach),
                           std::min(n, own + reach + 1), 1 / std::sqrt(static_cast<double>(dim)), 0,
                           own, slope == nullptr ? 0 : static_cast<double>(slopes[row % kHeads]));
          for (size_t i = 0; i < dim; ++i) {
            ASSERT_NEAR(output[row * dim + i], expected[i], 5e-4)
                << n << " positions, a window of " << window << ", row " << row;
          }
        }
        EXPECT_EQ(attend_text(queries, cache.view(), kHeads, dim, n, window, slope, 1), output);
        EXPECT_EQ(attend_text(queries, cache.view(), kHeads, dim, n, window, slope, 7), output);
      }
    }
  }
}

// A token's results must not depend on the tokens that are computed with it: prefill and decode
// agree.
TEST_P(Attention, GivesATokenTheSameNumbersInAnyCompany) {
  constexpr size_t kHeads = 5;
  constexpr size_t kPositions = 280;
  for (size_t i = 0; i < kNKvKinds; ++i) {
    const auto kind = static_cast<KvKind>(i);
    for (const size_t page_positions : {280u, 96u, 32u, 7u}) {
      for (const size_t window : {0u, 3u, 70u, 131u}) {
        Cache cache(kind, kind, 40, kPositions, page_positions, random_);
        const auto queries = numbers(6 * kHeads * 40, random_);
        AttentionShape shape{
            .head_dim = 40, .n_positions = kPositions, .n_tokens = 6, .n_heads = kHeads};
        shape.window = window;
        const auto together = attend(shape, queries, cache.view());
        shape.n_tokens = 1;
        for (size_t t = 0; t < 6; ++t) {
          shape.n_positions = kPositions - 5 + t;
          const auto first = static_cast<ptrdiff_t>(t * kHeads * 40);
          const auto behind = first + static_cast<ptrdiff_t>(kHeads * 40);
          const auto alone =
              attend(shape, {queries.begin() + first, queries.begin() + behind}, cache.view());
          EXPECT_EQ(alone, std::vector(together.begin() + first, together.begin() + behind))
              << kv_kind_info(kind).name << ", token " << t << ", a window of " << window
              << ", pages of " << page_positions;
        }
      }
    }
  }
}

TEST_P(Attention, SoftmaxInPartsIsTheSoftmaxOfAll) {
  for (const size_t part : {1u, 3u, 16u, 33u}) {
    auto x = numbers(100, random_, 10.0f);
    x[50] += 300.0f;  // the other exponentials become 0, and none overflows
    const double largest = static_cast<double>(*std::max_element(x.begin(), x.end()));
    std::vector<double> expected;
    double expected_sum = 0;
    for (const float value : x) {
      expected.push_back(std::exp(static_cast<double>(value) - largest));
      expected_sum += expected.back();
    }
    float found_largest = -std::numeric_limits<float>::infinity();
    float sum = 0;
    for (size_t from = 0; from < x.size(); from += part) {
      const size_t n = std::min(part, x.size() - from);
      const float factor = kernels().softmax_part(x.data() + from, n, found_largest, sum);
      for (size_t i = 0; i < from; ++i) x[i] *= factor;
    }
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(x[i] / sum, expected[i] / expected_sum, 2e-6);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Attention, each_set(), set_name);

}  // namespace
}  // namespace kinglet
