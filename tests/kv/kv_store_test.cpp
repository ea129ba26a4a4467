#include "kv/kv_store.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kv/kv_cache.h"

namespace kinglet {
namespace {

uint64_t up_to_line(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

KvStoreConfig config_of(std::vector<RowShape> rows, KvKind kind, uint32_t page_positions,
                        uint32_t n_pages = 1) {
  return {.rows = std::move(rows),
          .k_kind = kind,
          .v_kind = kind,
          .page_positions = page_positions,
          .n_pages = n_pages};
}

// The sizes are all different, and are no multiples of a cache line.
const std::vector<RowShape> kMixedRows = {{0, 2, 40}, {2, 1, 5}, {3, 3, 33}};

TEST(KvStore, TakesTheMemoryOfItsHeadsToTheByte) {
  const auto bytes = [](KvKind kind, uint32_t head_dim) {
    const auto store = KvStore::create(config_of({{0, 3, head_dim}, {1, 1, head_dim}}, kind, 64));
    EXPECT_TRUE(store.ok());
    return store.value()->bytes();
  };
  constexpr uint64_t kAllRows = 2 * (3 + 1) * 64;  // sides, heads, positions
  for (const uint32_t d : {64u, 128u}) {
    EXPECT_EQ(bytes(KvKind::f32, d), kAllRows * 4 * d);
    EXPECT_EQ(bytes(KvKind::f16, d), kAllRows * 2 * d);
    for (const KvKind kind : {KvKind::int8, KvKind::fp8_e4m3, KvKind::fp8_e5m2}) {
      EXPECT_EQ(bytes(kind, d), kAllRows * (d + 4));
    }
    EXPECT_EQ(bytes(KvKind::q8, d), kAllRows * d / 32 * 36);
    EXPECT_EQ(bytes(KvKind::q4, d), kAllRows * d / 32 * 18);
  }
}

TEST(KvStore, RoundsEachSideOfALayerUpToACacheLine) {
  for (size_t kind = 0; kind < kNKvKinds; ++kind) {
    KvStoreConfig config = config_of(kMixedRows, static_cast<KvKind>(kind), 7, 3);
    config.v_kind = KvKind::int8;
    const auto store = KvStore::create(config);
    ASSERT_TRUE(store.ok());
    const KvKindInfo& info = kv_kind_info(config.k_kind);
    uint64_t page = 0;
    for (const RowShape& shape : kMixedRows) {
      const uint64_t n_rows = uint64_t{shape.n_kv_heads} * config.page_positions;
      page += up_to_line(n_rows * info.row_bytes(shape.head_dim)) +
              up_to_line(n_rows * (shape.head_dim + sizeof(float)));
    }
    // Scales begin at multiples of four bytes, so there may be padding.
    EXPECT_LE(store.value()->bytes(), 3 * (page + 64 * kMixedRows.size()));
    EXPECT_GE(store.value()->bytes(), 3 * page);
  }
}

TEST(KvStore, SidesMayBeOfDifferentKinds) {
  const KvStoreConfig config{.rows = {{0, 1, 64}, {1, 2, 32}},
                             .k_kind = KvKind::q8,
                             .v_kind = KvKind::q4,
                             .page_positions = 64,
                             .n_pages = 1};
  const auto store = KvStore::create(config);
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(store.value()->bytes(), 64u * 4 * (36 + 18));
  EXPECT_EQ(config.bytes_per_position(), 4u * (36 + 18));
}

TEST(KvStore, EveryLayerOfEveryPageBeginsOnACacheLine) {
  for (size_t kind = 0; kind < kNKvKinds; ++kind) {
    KvStoreConfig config = config_of(kMixedRows, static_cast<KvKind>(kind), 3, 30);
    config.v_kind = KvKind::q4;
    const auto store = KvStore::create(config);
    ASSERT_TRUE(store.ok());
    KvCache cache(store.value(), 90);
    ASSERT_TRUE(cache.reserve(90).ok());
    for (uint32_t layer = 0; layer < kMixedRows.size(); ++layer) {
      for (const uint32_t position : {0u, 66u, 69u, 72u, 87u}) {  // of the beginning, of pages
        const KvView view = cache.view(layer, 0);
        for (const KvHead& head : {view.keys, view.values}) {
          const KvRows rows = view.rows(head, position);
          EXPECT_EQ(reinterpret_cast<uintptr_t>(rows.codes) % kAlignment, 0u);
          EXPECT_EQ(reinterpret_cast<uintptr_t>(rows.scales) % alignof(float), 0u);
        }
      }
    }
  }
}

TEST(KvStore, TellsWhatItSavesAgainstF32) {
  const auto compression = [](KvKind kind, uint32_t head_dim) {
    return config_of({{0, 2, head_dim}, {1, 1, head_dim}}, kind, 1).compression();
  };
  for (const KvKind kind : {KvKind::int8, KvKind::fp8_e4m3, KvKind::fp8_e5m2}) {
    EXPECT_NEAR(compression(kind, 64), 3.76, 0.005);
    EXPECT_NEAR(compression(kind, 128), 3.88, 0.005);
  }
  EXPECT_EQ(compression(KvKind::f32, 5), 1.0);
  EXPECT_EQ(compression(KvKind::f16, 5), 2.0);
  EXPECT_EQ(compression(KvKind::q8, 32), 1 / 0.28125);
  EXPECT_EQ(compression(KvKind::q4, 32), 128.0 / 18);
  EXPECT_EQ(KvStoreConfig().compression(), 1.0);
  // Two heads of 512 and of 256 elements: 6,144 bytes in F32.
  const auto mixed = config_of({{0, 1, 512}, {1, 1, 256}}, KvKind::int8, 1);
  EXPECT_EQ(mixed.bytes_per_position(), 2u * (512 + 4 + 256 + 4));
  EXPECT_EQ(mixed.compression(), 6144.0 / 1552);
}

TEST(KvStore, RefusesSizesOfZeroAndBeyondMemory) {
  const auto error_of = [](const KvStoreConfig& config) { return KvStore::create(config).error(); };
  const Error no_elements = error_of(config_of({{0, 1, 8}, {4, 2, 0}}, KvKind::f32, 1));
  EXPECT_EQ(no_elements.code, ErrorCode::invalid_argument);
  EXPECT_EQ(no_elements.message,
            "KV cache: layer 4 has 2 heads of 0 elements, expected at least 1 of each");
  EXPECT_EQ(error_of(config_of({{0, 0, 8}}, KvKind::f32, 1)).code, ErrorCode::invalid_argument);
  EXPECT_EQ(error_of(config_of({}, KvKind::f32, 0)).code, ErrorCode::invalid_argument);
  EXPECT_EQ(error_of(config_of({}, KvKind::f32, 1, 0)).code, ErrorCode::invalid_argument);
  for (const uint32_t size : {1u << 16, 1u << 20, UINT32_MAX}) {
    const std::vector<RowShape> rows(1024, {0, size, size});
    EXPECT_EQ(error_of(config_of(rows, KvKind::q4, UINT32_MAX, size)).code,
              ErrorCode::out_of_memory);
  }
}

TEST(KvStore, GivesThePageThatWasFreedLongestAgo) {
  const auto created = KvStore::create(config_of(kMixedRows, KvKind::f32, 1, 3));
  ASSERT_TRUE(created.ok());
  KvStore& store = *created.value();
  for (uint32_t page = 0; page < 3; ++page) EXPECT_EQ(store.take_page(), page);
  EXPECT_EQ(store.n_free(), 0u);
  store.share_page(1);
  for (const uint32_t page : {2u, 1u, 0u}) store.release_page(page);
  EXPECT_EQ(store.n_free(), 2u);  // one page has another user
  EXPECT_EQ(store.n_users(1), 1u);
  EXPECT_EQ(store.take_page(), 2u);
  EXPECT_EQ(store.take_page(), 0u);
}

}  // namespace
}  // namespace kinglet
