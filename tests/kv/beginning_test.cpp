// The exact first positions of caches that round, and the centres of their keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "kv/kv_cache.h"
#include "kv/rows.h"

namespace kinglet {
namespace {

constexpr uint32_t kDim = 64;
constexpr uint32_t kMost = 256;

class Beginning : public testing::TestWithParam<KvKind> {
 protected:
  static std::shared_ptr<KvStore> store(uint32_t page_positions = 32) {
    auto created = KvStore::create({.rows = {{0, 2, kDim}, {1, 1, kDim}},
                                    .k_kind = GetParam(),
                                    .v_kind = GetParam(),
                                    .page_positions = page_positions,
                                    .n_pages = 4 * kMost / page_positions});
    EXPECT_TRUE(created.ok());
    return created.value();
  }

  // The key of a position: a large part that all share, and small numbers.
  static std::vector<float> key_of(uint32_t number) {
    std::mt19937 random(number);
    std::vector<float> key(2 * kDim);
    for (size_t i = 0; i < key.size(); ++i) {
      const auto small = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
      key[i] = (i % 5 == 0 ? 40.0f : 1.0f) + small;
    }
    return key;
  }

  static void append(KvCache& cache, uint32_t first, uint32_t n) {
    ASSERT_TRUE(cache.reserve(n).ok());
    for (uint32_t i = 0; i < n; ++i) {
      const std::vector<float> key = key_of(first + i);
      ASSERT_TRUE(cache.write(0, i, key, key).ok());
      const auto half = std::span(key).first(kDim);
      ASSERT_TRUE(cache.write(1, i, half, half).ok());
    }
    ASSERT_TRUE(cache.commit(n).ok());
  }

  // What attention makes of one query that looks at the first n positions of a head.
  static std::vector<float> attended(const KvCache& cache, uint32_t head, float softcap = 0) {
    std::vector<float> query(kDim);
    for (size_t i = 0; i < kDim; ++i) query[i] = i % 3 == 0 ? 0.5f : -0.25f;
    std::vector<float> output(kDim);
    std::vector<std::byte> scratch(attention_scratch_bytes(kDim) + kAlignment);
    void* at = scratch.data();
    size_t room = scratch.size();
    std::align(kAlignment, attention_scratch_bytes(kDim), at, room);
    const AttentionTile tile{.queries = query.data(),
                             .output = output.data(),
                             .token_stride = kDim,
                             .n_tokens = 1,
                             .n_heads = 1,
                             .head_dim = kDim,
                             .position = cache.size() - 1,
                             .window = 0,
                             .scale = 0.25f,
                             .softcap = softcap};
    attend(scalar_kernels(), tile, cache.view(0, head), static_cast<std::byte*>(at));
    return output;
  }

  static float difference(const std::vector<float>& a, const std::vector<float>& b) {
    float most = 0;
    for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(a[i] - b[i]));
    return most;
  }
};

TEST_P(Beginning, FirstRowsAreHalfFloats) {
  KvCache cache(store(), kMost);
  append(cache, 0, 80);
  for (uint32_t position = 0; position < kExactPositions; ++position) {
    const std::vector<float> key = key_of(position);
    const std::vector<float> found = key_at(cache, 0, position, 1);
    for (size_t i = 0; i < kDim; ++i) {
      EXPECT_NEAR(found[i], key[kDim + i], std::fabs(key[kDim + i]) / 1024 + 0.05f) << position;
    }
  }
}

// Rounding sees only what keys do not have in common.
TEST_P(Beginning, LaterKeysLoseOnlyOfTheirOwn) {
  KvCache cache(store(), kMost);
  append(cache, 0, 200);
  const float step = GetParam() == KvKind::q4 ? 0.3f : 0.02f;  // of numbers up to about 1.2
  for (uint32_t position = kExactPositions; position < 200; ++position) {
    const std::vector<float> key = key_of(position);
    const std::vector<float> found = key_at(cache, 0, position, 1);
    EXPECT_LT(difference(found, {key.begin() + kDim, key.end()}), step) << position;
  }
}

TEST_P(Beginning, AttentionDoesNotSeeTheCentre) {
  auto exact = KvStore::create(
      {.rows = {{0, 2, kDim}, {1, 1, kDim}}, .page_positions = kMost, .n_pages = 1});
  ASSERT_TRUE(exact.ok());
  KvCache expected(exact.value(), kMost);
  KvCache cache(store(), kMost);
  append(expected, 0, 200);
  append(cache, 0, 200);
  for (const float softcap : {0.0f, 30.0f}) {
    const float most = GetParam() == KvKind::q4 ? 0.4f : 0.2f;  // values have no centre
    EXPECT_LT(difference(attended(cache, 1, softcap), attended(expected, 1, softcap)), most);
  }
}

TEST_P(Beginning, DoesNotDependOnBatches) {
  KvCache once(store(), kMost);
  append(once, 0, 150);
  for (const uint32_t n : {1u, 7u, 64u, 100u}) {
    KvCache parts(store(), kMost);
    for (uint32_t i = 0; i < 150; i += n) append(parts, i, std::min(n, 150 - i));
    EXPECT_EQ(attended(parts, 0), attended(once, 0)) << n;
  }
}

TEST_P(Beginning, ForksShareItUntilOneChangesIt) {
  const auto pages = store();
  KvCache parent(pages, kMost);
  append(parent, 0, 100);
  const std::vector<float> before = attended(parent, 0);
  auto child = parent.fork();
  ASSERT_TRUE(child.ok());
  append(child.value(), 500, 20);
  ASSERT_TRUE(child.value().truncate(40).ok());
  append(child.value(), 600, 100);
  EXPECT_EQ(attended(parent, 0), before);
  KvCache alone(store(), kMost);
  append(alone, 0, 40);
  append(alone, 600, 100);
  EXPECT_EQ(attended(child.value(), 0), attended(alone, 0));
}

TEST_P(Beginning, FormerlyLaterRowsBecomeItsOwn) {
  KvCache cache(store(), kMost);
  append(cache, 0, 150);
  ASSERT_TRUE(cache.drop(10, 70).ok());
  const float step = GetParam() == KvKind::q4 ? 0.4f : 0.1f;
  for (uint32_t position = 10; position < 80; ++position) {
    const std::vector<float> key = key_of(position + 70);
    const std::vector<float> found = key_at(cache, 0, position, 0);
    EXPECT_LT(difference(found, {key.begin(), key.begin() + kDim}), step) << position;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Beginning, testing::Values(KvKind::int8, KvKind::q8, KvKind::q4));

}  // namespace
}  // namespace kinglet
