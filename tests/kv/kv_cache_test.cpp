#include "kv/kv_cache.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace kinglet {
namespace {

constexpr KvCacheConfig kConfig{.n_layers = 3, .n_kv_heads = 2, .head_dim = 5, .capacity = 4};
constexpr size_t kWidth = 10;

// A row that tells its layer and position.
std::array<float, kWidth> row(uint32_t layer, uint32_t position, float offset) {
  std::array<float, kWidth> values;
  for (size_t i = 0; i < kWidth; ++i) {
    values[i] = static_cast<float>(100 * layer + 10 * position + i) + offset;
  }
  return values;
}

KvCache make_cache() {
  auto cache = KvCache::create(kConfig);
  EXPECT_TRUE(cache.ok());
  return std::move(cache.value());
}

void push_position(KvCache& cache, uint32_t layers = kConfig.n_layers) {
  for (uint32_t layer = 0; layer < layers; ++layer) {
    const uint32_t position = cache.size();
    ASSERT_TRUE(cache.push(layer, row(layer, position, 0), row(layer, position, 0.5f)).ok());
  }
}

TEST(KvCache, GivesBackWhatWasCommitted) {
  KvCache cache = make_cache();
  for (uint32_t position = 0; position < kConfig.capacity; ++position) {
    push_position(cache);
    ASSERT_TRUE(cache.commit().ok());
    EXPECT_EQ(cache.size(), position + 1);
  }
  for (uint32_t layer = 0; layer < kConfig.n_layers; ++layer) {
    for (uint32_t position = 0; position < kConfig.capacity; ++position) {
      for (uint32_t head = 0; head < kConfig.n_kv_heads; ++head) {
        std::vector<float> out(kConfig.head_dim);
        ASSERT_TRUE(cache.read_key(layer, position, head, out).ok());
        EXPECT_EQ(out[1], row(layer, position, 0)[head * kConfig.head_dim + 1]);
        ASSERT_TRUE(cache.read_value(layer, position, head, out).ok());
        EXPECT_EQ(out[4], row(layer, position, 0.5f)[head * kConfig.head_dim + 4]);
      }
    }
  }
}

TEST(KvCache, AttentionSeesTheSameRows) {
  KvCache cache = make_cache();
  push_position(cache);
  ASSERT_TRUE(cache.commit().ok());
  push_position(cache);
  const KvView view = cache.view(2, 1);
  const auto* key = reinterpret_cast<const float*>(view.rows(view.keys, 1).codes);
  EXPECT_EQ(key[0], row(2, 1, 0)[kConfig.head_dim]);
  const auto* value = reinterpret_cast<const float*>(view.rows(view.values, 1).codes);
  EXPECT_EQ(value[0], row(2, 1, 0.5f)[kConfig.head_dim]);
}

TEST(KvCache, TakesTheMemoryOfItsHeadsToTheByte) {
  const auto bytes = [](KvKind kind, uint32_t head_dim) {
    const auto cache = KvCache::create({.n_layers = 2,
                                        .n_kv_heads = 3,
                                        .head_dim = head_dim,
                                        .capacity = 64,
                                        .k_kind = kind,
                                        .v_kind = kind});
    EXPECT_TRUE(cache.ok());
    return cache.value().bytes();
  };
  constexpr uint64_t kRows = 2 * 2 * 3 * 64;  // layers, sides, heads, positions
  for (const uint32_t d : {64u, 128u}) {
    EXPECT_EQ(bytes(KvKind::f32, d), kRows * 4 * d);
    EXPECT_EQ(bytes(KvKind::f16, d), kRows * 2 * d);
    for (const KvKind kind : {KvKind::int8, KvKind::fp8_e4m3, KvKind::fp8_e5m2}) {
      EXPECT_EQ(bytes(kind, d), kRows * (d + 4));
    }
    EXPECT_EQ(bytes(KvKind::q8, d), kRows * d / 32 * 36);
    EXPECT_EQ(bytes(KvKind::q4, d), kRows * d / 32 * 18);
  }
}

TEST(KvCache, RoundsEachSideOfALayerUpToACacheLine) {
  const auto up = [](uint64_t bytes) { return (bytes + 63) / 64 * 64; };
  for (size_t kind = 0; kind < kNKvKinds; ++kind) {
    KvCacheConfig config = kConfig;  // of sizes that no line divides
    config.k_kind = static_cast<KvKind>(kind);
    config.v_kind = KvKind::int8;
    const auto cache = KvCache::create(config);
    ASSERT_TRUE(cache.ok());
    const KvKindInfo& info = kv_kind_info(config.k_kind);
    const uint64_t n_rows = uint64_t{config.n_kv_heads} * config.capacity;
    const uint64_t codes = n_rows * info.code_bytes(config.head_dim);
    const uint64_t scales = n_rows * info.n_scales(config.head_dim) * sizeof(float);
    const uint64_t values = n_rows * config.head_dim + n_rows * sizeof(float);
    EXPECT_EQ(cache.value().bytes(), config.n_layers * (up(codes + scales) + up(values)));
  }
}

TEST(KvCache, SidesMayBeOfDifferentKinds) {
  auto cache = KvCache::create({.n_layers = 1,
                                .n_kv_heads = 1,
                                .head_dim = 64,
                                .capacity = 64,
                                .k_kind = KvKind::q8,
                                .v_kind = KvKind::q4});
  ASSERT_TRUE(cache.ok());
  EXPECT_EQ(cache.value().bytes(), 64u * (2 * 36 + 2 * 18));
  EXPECT_EQ(cache.value().store().config().bytes_per_position(), 2u * 36 + 2 * 18);
}

TEST(KvCache, SlabsBeginOnCacheLines) {
  for (size_t kind = 0; kind < kNKvKinds; ++kind) {
    KvCacheConfig config = kConfig;  // of sizes that no line divides
    config.k_kind = config.v_kind = static_cast<KvKind>(kind);
    auto cache = KvCache::create(config);
    ASSERT_TRUE(cache.ok());
    ASSERT_TRUE(cache.value().reserve(1).ok());
    for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
      const KvView view = cache.value().view(layer, 0);
      for (const KvHead& head : {view.keys, view.values}) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(head.first_page.codes) % kAlignment, 0u);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(head.first_page.scales) % alignof(float), 0u);
      }
    }
  }
}

TEST(KvCache, NamesTheSideOfAWrongLength) {
  KvCache cache = make_cache();
  const std::vector<float> right(kWidth);
  const std::vector<float> wrong(kWidth - 1);
  const auto bad_key = cache.push(0, wrong, wrong);
  ASSERT_FALSE(bad_key.ok());
  EXPECT_EQ(bad_key.error().message, "KV cache: a key has 9 elements, expected 10");
  const auto bad_value = cache.push(0, right, wrong);
  ASSERT_FALSE(bad_value.ok());
  EXPECT_EQ(bad_value.error().message, "KV cache: a value has 9 elements, expected 10");
}

TEST(KvCache, RefusesPositionsPastItsCapacity) {
  KvCache cache = make_cache();
  for (uint32_t i = 0; i < kConfig.capacity; ++i) {
    push_position(cache);
    ASSERT_TRUE(cache.commit().ok());
  }
  const std::vector<float> values(kWidth);
  const auto status = cache.push(0, values, values);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::context_full);
  EXPECT_EQ(status.error().message,
            "the context is full: it holds 4 of 4 positions, 1 more do not fit");
  EXPECT_EQ(cache.size(), kConfig.capacity);
  // A wrong length is named first.
  const std::vector<float> wrong(kWidth + 1);
  EXPECT_EQ(cache.push(0, wrong, values).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(cache.push(0, values, wrong).error().code, ErrorCode::invalid_argument);
}

TEST(KvCache, CommitsAllLayersOrNone) {
  KvCache cache = make_cache();
  push_position(cache);
  ASSERT_TRUE(cache.commit().ok());
  push_position(cache, 2);
  EXPECT_FALSE(cache.commit().ok());
  EXPECT_EQ(cache.size(), 1u);
  cache.rollback();
  EXPECT_TRUE(cache.commit().ok());
  EXPECT_EQ(cache.size(), 1u);
  // The position that was rolled back can be written again.
  push_position(cache);
  ASSERT_TRUE(cache.commit().ok());
  EXPECT_EQ(cache.size(), 2u);
}

// NaN in the last layer leaves no trace in the ones before it.
TEST(KvCache, AStepThatFailsLeavesEveryLayerAsItWas) {
  for (const uint32_t page_positions : {64u, 4u}) {
    auto store = KvStore::create({.n_layers = kConfig.n_layers,
                                  .n_kv_heads = kConfig.n_kv_heads,
                                  .head_dim = kConfig.head_dim,
                                  .page_positions = page_positions,
                                  .n_pages = 64 / page_positions,
                                  .reject_not_finite = true});
    ASSERT_TRUE(store.ok());
    auto created = KvCache::create_in(store.value(), 64);
    ASSERT_TRUE(created.ok());
    KvCache& cache = created.value();
    const auto push = [&cache](uint32_t n_layers, uint32_t position) {
      for (uint32_t layer = 0; layer < n_layers; ++layer) {
        const auto keys = row(layer, position, 0);
        ASSERT_TRUE(cache.push(layer, keys, keys).ok());
      }
    };
    for (uint32_t position = 0; position < 6; ++position) {
      push(kConfig.n_layers, position);
      ASSERT_TRUE(cache.commit().ok());
    }
    const uint32_t n_used = store.value()->stats().n_used;
    for (uint32_t position = 6; position < 10; ++position) push(kConfig.n_layers, position);
    push(kConfig.n_layers - 1, 10);
    auto bad = row(kConfig.n_layers - 1, 10, 0);
    bad.back() = NAN;
    EXPECT_EQ(cache.push(kConfig.n_layers - 1, bad, bad).error().code, ErrorCode::not_finite);
    cache.rollback();
    EXPECT_EQ(cache.size(), 6u);
    EXPECT_EQ(store.value()->stats().n_used, n_used);

    push(kConfig.n_layers, 99);
    ASSERT_TRUE(cache.commit().ok());
    std::vector<float> out(kConfig.head_dim);
    for (uint32_t layer = 0; layer < kConfig.n_layers; ++layer) {
      ASSERT_TRUE(cache.read_key(layer, 5, 0, out).ok());
      EXPECT_EQ(out[0], row(layer, 5, 0)[0]);
      ASSERT_TRUE(cache.read_key(layer, 6, 0, out).ok());
      EXPECT_EQ(out[0], row(layer, 99, 0)[0]);
      EXPECT_FALSE(cache.read_key(layer, 7, 0, out).ok());
    }
  }
}

TEST(KvCache, TruncatesButNeverGrows) {
  for (size_t kind = 0; kind < kNKvKinds; ++kind) {
    KvCacheConfig config = kConfig;
    config.k_kind = config.v_kind = static_cast<KvKind>(kind);
    auto created = KvCache::create(config);
    ASSERT_TRUE(created.ok());
    KvCache& cache = created.value();
    for (int i = 0; i < 3; ++i) {
      push_position(cache);
      ASSERT_TRUE(cache.commit().ok());
    }
    ASSERT_TRUE(cache.truncate(1).ok());
    EXPECT_EQ(cache.size(), 1u);
    EXPECT_FALSE(cache.truncate(2).ok());
    cache.clear();
    EXPECT_EQ(cache.size(), 0u);
  }
}

TEST(KvCache, NeverGivesStaleRows) {
  KvCache cache = make_cache();
  push_position(cache);
  ASSERT_TRUE(cache.commit().ok());
  std::vector<float> out(kConfig.head_dim);
  EXPECT_TRUE(cache.read_key(0, 0, 0, out).ok());
  EXPECT_FALSE(cache.read_key(3, 0, 0, out).ok());
  EXPECT_FALSE(cache.read_key(0, 1, 0, out).ok());
  EXPECT_FALSE(cache.read_key(0, 0, 2, out).ok());
  out.pop_back();
  EXPECT_FALSE(cache.read_key(0, 0, 0, out).ok());
  cache.clear();
  out.resize(kConfig.head_dim);
  EXPECT_FALSE(cache.read_key(0, 0, 0, out).ok());
}

TEST(KvCache, RefusesSizesOfZeroAndBeyondMemory) {
  EXPECT_EQ(
      KvCache::create({.n_layers = 1, .n_kv_heads = 1, .head_dim = 0, .capacity = 1}).error().code,
      ErrorCode::invalid_argument);
  const auto huge = KvCache::create(
      {.n_layers = 1024, .n_kv_heads = 1u << 20, .head_dim = 1u << 20, .capacity = UINT32_MAX});
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.error().code, ErrorCode::out_of_memory);
}

}  // namespace
}  // namespace kinglet
