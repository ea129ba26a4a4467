#include "kv/kv_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace kinglet {
namespace {

constexpr uint32_t kLayers = 2;
constexpr uint32_t kHeads = 2;
constexpr uint32_t kDim = 40;
constexpr uint32_t kPage = 4;
constexpr uint32_t kPages = 12;

struct Layout {
  uint32_t page_positions;
  uint32_t n_pages;
};

std::shared_ptr<KvStore> make_store(KvKind k_kind = KvKind::f32, KvKind v_kind = KvKind::f32,
                                    Layout layout = {kPage, kPages}) {
  auto store = KvStore::create({.n_layers = kLayers,
                                .n_kv_heads = kHeads,
                                .head_dim = kDim,
                                .k_kind = k_kind,
                                .v_kind = v_kind,
                                .page_positions = layout.page_positions,
                                .n_pages = layout.n_pages,
                                .reject_not_finite = false});
  EXPECT_TRUE(store.ok());
  return store.value();
}

// The keys of a position, told by a number; values are their negatives.
std::vector<float> row_of(uint32_t number, uint32_t layer) {
  std::mt19937 random(number * kLayers + layer);
  std::vector<float> row(kHeads * kDim);
  for (float& x : row) x = static_cast<float>(random() % 2001) - 1000.0f;
  return row;
}

std::vector<float> negative(std::vector<float> row) {
  for (float& x : row) x = -x;
  return row;
}

Status append(KvStore& store, SequenceId id, uint32_t number) {
  const uint32_t position = store.n_positions(id);
  KINGLET_TRY(store.reserve(id, position + 1));
  for (uint32_t layer = 0; layer < kLayers; ++layer) {
    const auto row = row_of(number, layer);
    KINGLET_TRY(store.write(id, layer, position, row, negative(row)));
  }
  return store.record(id, 1);
}

// A row as a store of that kind holds it.
struct StoredRow {
  std::vector<std::byte> codes;
  std::vector<float> scales;
  bool operator==(const StoredRow&) const = default;
};

StoredRow encoded(KvKind kind, const float* row) {
  const KvKindInfo& info = kv_kind_info(kind);
  StoredRow stored{std::vector<std::byte>(static_cast<size_t>(info.code_bytes(kDim))),
                   std::vector<float>(static_cast<size_t>(info.n_scales(kDim)))};
  info.write_row(row, kDim, stored.codes.data(), stored.scales.data());
  return stored;
}

// What a row reads back as once it is stored.
std::vector<float> stored(KvKind kind, const float* row) {
  const StoredRow bytes = encoded(kind, row);
  std::vector<float> out(kDim);
  kv_kind_info(kind).read_row(bytes.codes.data(), bytes.scales.data(), 0, kDim, out.data());
  return out;
}

// What attention would read there.
StoredRow found(const KvView& view, const KvHead& head, uint32_t position) {
  const KvRows rows = view.rows(head, position);
  const KvKindInfo& info = kv_kind_info(head.kind);
  return {{rows.codes, rows.codes + info.code_bytes(kDim)},
          {rows.scales, rows.scales + info.n_scales(kDim)}};
}

// The rows that a position was given last, told by numbers; values may outlive a key.
struct Written {
  uint32_t key;
  uint32_t value;
  Written(uint32_t number) : key(number), value(number) {}  // NOLINT: implicit by design
};

// Bit for bit, and as floats.
void expect_contents(const KvStore& store, SequenceId id, const std::vector<Written>& written) {
  const auto [k_kind, v_kind] = std::pair(store.config().k_kind, store.config().v_kind);
  ASSERT_EQ(store.n_positions(id), written.size());
  std::vector<float> out(kDim);
  for (uint32_t position = 0; position < written.size(); ++position) {
    for (uint32_t layer = 0; layer < kLayers; ++layer) {
      const auto keys = row_of(written[position].key, layer);
      const auto values = negative(row_of(written[position].value, layer));
      for (uint32_t head = 0; head < kHeads; ++head) {
        const KvView view = store.view(id, layer, head);
        const float* key = keys.data() + head * kDim;
        ASSERT_EQ(found(view, view.keys, position), encoded(k_kind, key)) << position;
        ASSERT_TRUE(store.read_key(id, layer, position, head, out).ok());
        ASSERT_EQ(out, stored(k_kind, key)) << position;
        const float* value = values.data() + head * kDim;
        ASSERT_EQ(found(view, view.values, position), encoded(v_kind, value)) << position;
        ASSERT_TRUE(store.read_value(id, layer, position, head, out).ok());
        ASSERT_EQ(out, stored(v_kind, value)) << position;
      }
    }
  }
}

// Gives recorded keys other numbers, in pages of the sequence's own.
Status rewrite_keys(KvStore& store, SequenceId id, uint32_t position, uint32_t number) {
  KINGLET_TRY(store.unshare(id, position));
  for (uint32_t layer = 0; layer < kLayers; ++layer) {
    const auto keys = row_of(number, layer);
    for (uint32_t head = 0; head < kHeads; ++head) {
      store.rewrite_key(id, layer, position, head, std::span(keys).subspan(head * kDim, kDim));
    }
  }
  return {};
}

TEST(KvStore, TakesPagesForPositions) {
  const auto store = make_store();
  const auto empty = store->allocate(0);
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(store->stats().n_used, 0u);
  EXPECT_EQ(store->stats().utilization, 0.0f);
  EXPECT_EQ(store->stats().fragmentation, 0.0f);
  ASSERT_TRUE(store->allocate(kPage + 1).ok());
  EXPECT_EQ(store->stats().n_used, 2u);
  EXPECT_EQ(store->stats().n_wasted, 2u * kPage);
  EXPECT_FLOAT_EQ(store->stats().utilization, 2.0f / kPages);
  ASSERT_TRUE(store->allocate(kPage * (kPages - 2)).ok());
  EXPECT_EQ(store->stats().utilization, 1.0f);
}

TEST(KvStore, SaysHowManyPagesAreMissingAndChangesNothing) {
  const auto store = make_store();
  ASSERT_TRUE(store->allocate(kPage * (kPages - 1)).ok());
  const auto refused = store->allocate(2 * kPage);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
  EXPECT_EQ(refused.error().message,
            "KV cache: 2 pages of 4 positions are needed, 1 are available");
  EXPECT_EQ(store->stats().n_free, 1u);
}

TEST(KvStore, RefusesSequencesAndRowsThatAreNotThere) {
  const auto store = make_store();
  const SequenceId id = store->allocate(0).value();
  ASSERT_TRUE(append(*store, id, 1).ok());
  EXPECT_EQ(store->free(7).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(store->fork(7).error().message, "KV cache: there is no sequence 7");
  std::vector<float> out(kDim);
  const Status beyond = store->read_key(id, 0, 9, 0, out);
  ASSERT_FALSE(beyond.ok());
  EXPECT_NE(beyond.error().message.find("position 9 (page 2)"), std::string::npos);
  EXPECT_FALSE(store->read_key(id, kLayers, 0, 0, out).ok());
  EXPECT_FALSE(store->read_value(id, 0, 0, kHeads, out).ok());
  ASSERT_TRUE(store->free(id).ok());
  EXPECT_FALSE(store->free(id).ok());
  EXPECT_FALSE(store->read_key(id, 0, 0, 0, out).ok());
}

TEST(KvStore, WritesOnlyWhatWasReserved) {
  const auto store = make_store();
  const SequenceId id = store->allocate(0).value();
  const auto row = row_of(1, 0);
  EXPECT_FALSE(store->write(id, 0, 0, row, row).ok());
  EXPECT_FALSE(store->record(id, 1).ok());
  ASSERT_TRUE(append(*store, id, 1).ok());
  EXPECT_FALSE(store->write(id, 0, 0, row, row).ok());  // recorded already
  EXPECT_TRUE(store->write(id, 0, 1, row, row).ok());
}

TEST(KvStore, FreesPagesInTheOrderTheyComeBack) {
  const auto store = make_store();
  const SequenceId first = store->allocate(kPage * kPages).value();
  ASSERT_TRUE(store->free(first).ok());
  const SequenceId a = store->allocate(1).value();
  const SequenceId b = store->allocate(1).value();
  EXPECT_EQ(store->view(a, 0, 0).pages[0], 0u);
  EXPECT_EQ(store->view(b, 0, 0).pages[0], 1u);
  ASSERT_TRUE(store->free(a).ok());
  const SequenceId c = store->allocate(1).value();
  EXPECT_EQ(store->view(c, 0, 0).pages[0], 2u);  // page 0 went to the end of the queue
}

TEST(KvStore, ForksSharePagesUntilOneWrites) {
  const auto store = make_store();
  const SequenceId parent = store->allocate(0).value();
  for (uint32_t i = 0; i < 6; ++i) ASSERT_TRUE(append(*store, parent, i).ok());
  const SequenceId child = store->fork(parent).value();
  EXPECT_EQ(store->stats().n_used, 2u);
  EXPECT_EQ(store->stats().n_positions, 6u);
  EXPECT_EQ(store->stats().n_forks, 1u);
  EXPECT_EQ(store->stats().n_page_copies, 0u);

  ASSERT_TRUE(append(*store, child, 100).ok());
  EXPECT_EQ(store->stats().n_page_copies, 1u);  // only the partly filled last page
  EXPECT_EQ(store->stats().n_used, 3u);
  ASSERT_TRUE(append(*store, parent, 200).ok());
  EXPECT_EQ(store->stats().n_page_copies, 1u);  // the parent is now alone in its page
  expect_contents(*store, parent, {0, 1, 2, 3, 4, 5, 200});
  expect_contents(*store, child, {0, 1, 2, 3, 4, 5, 100});

  ASSERT_TRUE(store->free(parent).ok());
  expect_contents(*store, child, {0, 1, 2, 3, 4, 5, 100});
}

TEST(KvStore, ManyForksTakeOnlyTheirOwnPages) {
  constexpr uint32_t kPositions = 2000;
  constexpr uint32_t kWritten = 16;
  constexpr uint32_t kForks = 64;
  // Pages that 2,000 positions fill, and that they do not: those are copied by a fork that writes.
  for (const uint32_t page_positions : {16u, 20u, 24u, 32u, 48u}) {
    const uint32_t n_whole = kPositions / page_positions;
    const uint32_t n_shared = (kPositions - 1) / page_positions + 1;
    const uint32_t n_own = (kPositions + kWritten - 1) / page_positions + 1 - n_whole;
    auto created = KvStore::create({.n_layers = 1,
                                    .n_kv_heads = 1,
                                    .head_dim = 32,
                                    .k_kind = KvKind::q4,
                                    .v_kind = KvKind::q4,
                                    .page_positions = page_positions,
                                    .n_pages = n_shared + kForks * n_own});
    ASSERT_TRUE(created.ok());
    KvStore& store = *created.value();
    const std::vector<float> row(32, 1.0f);
    const SequenceId parent = store.allocate(0).value();
    ASSERT_TRUE(store.reserve(parent, kPositions).ok());
    ASSERT_TRUE(store.record(parent, kPositions).ok());
    ASSERT_EQ(store.stats().n_used, n_shared);
    std::vector<SequenceId> forks;
    for (uint32_t i = 0; i < kForks; ++i) forks.push_back(store.fork(parent).value());
    ASSERT_EQ(store.stats().n_used, n_shared);
    for (const SequenceId fork : forks) {
      for (uint32_t i = 0; i < kWritten; ++i) {
        ASSERT_TRUE(store.reserve(fork, kPositions + i + 1).ok());
        ASSERT_TRUE(store.write(fork, 0, kPositions + i, row, row).ok());
        ASSERT_TRUE(store.record(fork, 1).ok());
      }
    }
    EXPECT_EQ(store.stats().n_used, n_shared + kForks * n_own) << page_positions;
    EXPECT_EQ(store.stats().n_page_copies, n_whole == n_shared ? 0u : kForks) << page_positions;
    for (const SequenceId fork : forks) ASSERT_TRUE(store.free(fork).ok());
    EXPECT_EQ(store.stats().n_used, n_shared);
  }
}

TEST(KvStore, EveryLayerOfEveryPageBeginsOnACacheLine) {
  for (size_t kind = 0; kind < kNKvKinds; ++kind) {
    const auto store = make_store(static_cast<KvKind>(kind), KvKind::q4, {3, 5});
    const SequenceId id = store->allocate(3 * 5).value();
    for (uint32_t layer = 0; layer < kLayers; ++layer) {
      for (uint32_t position = 0; position < 3 * 5; position += 3) {
        const KvView view = store->view(id, layer, 0);
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
    return KvStoreConfig{
        .n_layers = 3, .n_kv_heads = 2, .head_dim = head_dim, .k_kind = kind, .v_kind = kind}
        .compression();
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
}

TEST(KvStore, TruncatedPagesComeBack) {
  const auto store = make_store();
  const SequenceId id = store->allocate(0).value();
  for (uint32_t i = 0; i < 10; ++i) ASSERT_TRUE(append(*store, id, i).ok());
  ASSERT_TRUE(store->truncate(id, 5).ok());
  EXPECT_EQ(store->stats().n_used, 2u);
  EXPECT_FALSE(store->truncate(id, 6).ok());
  ASSERT_TRUE(append(*store, id, 77).ok());
  expect_contents(*store, id, {0, 1, 2, 3, 4, 77});
}

TEST(KvStore, TellsHolesWasteAndWhenToDefragment) {
  const auto store = make_store();
  std::vector<SequenceId> ids;
  for (uint32_t i = 0; i < 8; ++i) {
    ids.push_back(store->allocate(0).value());
    ASSERT_TRUE(append(*store, ids.back(), i).ok());
  }
  KvStoreStats stats = store->stats();
  EXPECT_EQ(stats.n_holes, 0u);
  EXPECT_EQ(stats.n_wasted, 8u * (kPage - 1));
  EXPECT_EQ(stats.largest_free_run, 4u);
  EXPECT_FALSE(stats.should_defragment());
  for (const size_t i : {1u, 2u, 4u, 6u}) ASSERT_TRUE(store->free(ids[i]).ok());
  stats = store->stats();
  EXPECT_EQ(stats.n_used, 4u);
  EXPECT_EQ(stats.n_holes, 3u);
  EXPECT_FLOAT_EQ(stats.fragmentation, 0.75f);
  EXPECT_TRUE(stats.should_defragment());
  EXPECT_EQ(store->defragment(), 2u);  // 7 and 5, to 1 and 2
  EXPECT_EQ(store->stats().n_holes, 0u);
  EXPECT_EQ(store->stats().largest_free_run, 8u);
  for (const uint32_t i : {0u, 3u, 5u, 7u}) expect_contents(*store, ids[i], {i});
  EXPECT_EQ(store->defragment(), 0u);
}

TEST(KvStore, ThresholdsAreStrict) {
  KvStoreStats stats{.n_pages = 100, .n_used = 80, .n_free = 20, .n_positions = 320};
  stats.fragmentation = 0.3f;
  EXPECT_FALSE(stats.should_defragment());
  stats.fragmentation = 0.31f;
  EXPECT_TRUE(stats.should_defragment());
  stats.fragmentation = 0;
  stats.n_holes = 3;
  stats.n_positions = 300;
  stats.n_wasted = 100;  // a quarter of 400
  EXPECT_FALSE(stats.should_defragment());
  stats.n_wasted = 101;
  EXPECT_TRUE(stats.should_defragment());
  stats.n_holes = 2;
  EXPECT_FALSE(stats.should_defragment());
  stats.n_free = 10;
  EXPECT_FALSE(stats.should_defragment());
  stats.n_free = 9;
  EXPECT_TRUE(stats.should_defragment());
  stats.n_holes = 0;
  EXPECT_FALSE(stats.should_defragment());
}

TEST(KvStore, CompactsOneSequenceToTheFront) {
  const auto store = make_store();
  const SequenceId first = store->allocate(kPage * 3).value();
  const SequenceId id = store->allocate(0).value();
  for (uint32_t i = 0; i < 9; ++i) ASSERT_TRUE(append(*store, id, i).ok());
  const SequenceId child = store->fork(id).value();
  ASSERT_TRUE(store->free(first).ok());
  EXPECT_EQ(store->compact_sequence(id).value(), 3u);
  EXPECT_EQ(store->compact_sequence(id).value(), 0u);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(store->view(id, 0, 0).pages[i], i);
  expect_contents(*store, id, {0, 1, 2, 3, 4, 5, 6, 7, 8});
  expect_contents(*store, child, {0, 1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_FALSE(store->compact_sequence(99).ok());
}

// Two stores that saw the same calls place everything alike, moves included.
TEST(KvStore, PlacesPagesDeterministically) {
  const auto places = [] {
    std::mt19937 random(3);
    const auto store = make_store();
    std::vector<SequenceId> ids;
    for (int i = 0; i < 60; ++i) {
      const auto id = store->allocate(static_cast<uint32_t>(random() % 9));
      if (id.ok()) ids.push_back(id.value());
      if (ids.size() > 3) {
        EXPECT_TRUE(store->free(ids[random() % 4]).ok());
        ids.erase(std::remove_if(ids.begin(), ids.end(),
                                 [&](SequenceId one) { return !store->truncate(one, 0).ok(); }),
                  ids.end());
      }
      for (const SequenceId one : ids) (void)append(*store, one, static_cast<uint32_t>(i));
      if (i % 7 == 0) (void)store->compact_sequence(ids[random() % ids.size()]);
      if (i % 11 == 0) (void)store->defragment();
    }
    std::vector<uint32_t> pages;
    for (const SequenceId id : ids) {
      const size_t n = (store->n_positions(id) + kPage - 1) / kPage;
      pages.insert(pages.end(), store->view(id, 0, 0).pages, store->view(id, 0, 0).pages + n);
    }
    return pages;
  };
  EXPECT_FALSE(places().empty());
  EXPECT_EQ(places(), places());
}

TEST(KvStore, MakesRowsFiniteAndCountsThem) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (size_t kind = 0; kind < kNKvKinds; ++kind) {
    const auto store = make_store(static_cast<KvKind>(kind), static_cast<KvKind>(kind));
    const SequenceId id = store->allocate(0).value();
    ASSERT_TRUE(append(*store, id, 5).ok());
    ASSERT_TRUE(store->reserve(id, 2).ok());
    const auto good = row_of(6, 0);
    auto bad = good;
    bad[3] = std::numeric_limits<float>::quiet_NaN();
    bad[4] = -kInfinity;  // both in head 0
    for (uint32_t layer = 0; layer < kLayers; ++layer) {
      ASSERT_TRUE(store->write(id, layer, 1, bad, good).ok());
    }
    ASSERT_TRUE(store->record(id, 1).ok());
    EXPECT_EQ(store->n_not_finite(), kLayers);

    auto repaired = good;
    repaired[3] = 0.0f;
    repaired[4] = 0.0f;
    float largest = 0;
    for (uint32_t i = 0; i < kDim; ++i) largest = std::max(largest, std::fabs(repaired[i]));
    repaired[4] = -largest;
    std::vector<float> out(kDim);
    ASSERT_TRUE(store->read_key(id, 0, 1, 0, out).ok());
    EXPECT_EQ(out, stored(static_cast<KvKind>(kind), repaired.data()));
    ASSERT_TRUE(store->read_key(id, 0, 1, 1, out).ok());
    EXPECT_EQ(out, stored(static_cast<KvKind>(kind), good.data() + kDim));
    // Position 0 is as it was.
    ASSERT_TRUE(store->truncate(id, 1).ok());
    expect_contents(*store, id, {5});
  }
}

TEST(KvStore, MayRejectRowsThatAreNotFinite) {
  auto store = KvStore::create({.n_layers = 1,
                                .n_kv_heads = 1,
                                .head_dim = 2,
                                .page_positions = 1,
                                .n_pages = 1,
                                .reject_not_finite = true});
  ASSERT_TRUE(store.ok());
  const SequenceId id = store.value()->allocate(1).value();
  const std::vector<float> good = {1.0f, 2.0f};
  const std::vector<float> bad = {1.0f, std::numeric_limits<float>::infinity()};
  EXPECT_EQ(store.value()->write(id, 0, 0, good, bad).error().code, ErrorCode::not_finite);
  EXPECT_TRUE(store.value()->write(id, 0, 0, good, good).ok());
}

// Random operations against plain lists of numbers, for every kind of keys and of values, in pages
// and in one piece.
class AgainstTheTruth : public testing::TestWithParam<size_t> {
 protected:
  AgainstTheTruth() : random_(static_cast<uint32_t>(GetParam()) + 1), store_(store()) {}

  // One of the operations, on any sequence.
  void step() {
    const auto operation = static_cast<uint32_t>(random_() % 18);
    if (truth_.empty() || operation == 0) return allocate();
    auto sequence = truth_.begin();
    std::advance(sequence, static_cast<ptrdiff_t>(random_() % truth_.size()));
    auto& [id, written] = *sequence;
    switch (operation) {
      case 1:
        return fork(id);
      case 2:
        ASSERT_TRUE(store_->free(id).ok());
        truth_.erase(sequence);
        return;
      case 3:
        written.resize(random_() % (written.size() + 1), 0);
        ASSERT_TRUE(store_->truncate(id, static_cast<uint32_t>(written.size())).ok());
        return;
      case 4:
        ASSERT_TRUE(store_->compact_sequence(id).ok());
        return;
      case 5:
        (void)store_->defragment();
        EXPECT_EQ(store_->stats().n_holes, 0u);
        return;
      case 6:
        return fail_half_way(id);
      case 7:
        return rewrite(id, written);
      case 8:
        return copy(id, written);
      default:
        return append_position(id, written);
    }
  }

  void expect_truth() {
    for (const auto& [id, written] : truth_) expect_contents(*store_, id, written);
  }

  void expect_consistent_stats() {
    const KvStoreStats stats = store_->stats();
    const KvStoreConfig& config = store_->config();
    EXPECT_EQ(stats.n_used + stats.n_free, config.n_pages);
    EXPECT_EQ(stats.n_positions + stats.n_wasted, uint64_t{stats.n_used} * config.page_positions);
  }

  void free_all() {
    for (const auto& [id, written] : truth_) ASSERT_TRUE(store_->free(id).ok());
    EXPECT_EQ(store_->stats().n_free, store_->config().n_pages);
  }

 private:
  static std::shared_ptr<KvStore> store() {
    const size_t i = GetParam();
    const auto k_kind = static_cast<KvKind>(i % kNKvKinds);
    const auto v_kind = static_cast<KvKind>((i + i / kNKvKinds) % kNKvKinds);
    return make_store(k_kind, v_kind, i % 3 == 2 ? Layout{24, 1} : Layout{kPage, kPages});
  }

  void allocate() {
    const auto id = store_->allocate(static_cast<uint32_t>(random_() % (3 * kPage)));
    if (id.ok()) truth_[id.value()] = {};
  }

  void fork(SequenceId id) {
    const auto child = store_->fork(id);
    ASSERT_TRUE(child.ok());
    const std::vector<Written> copy = truth_[id];
    truth_[child.value()] = copy;
  }

  // A step that is rolled back with one layer written.
  void fail_half_way(SequenceId id) {
    const uint32_t n = store_->n_positions(id);
    if (store_->reserve(id, n + 2).ok()) {
      const auto row = row_of(9999, 0);
      ASSERT_TRUE(store_->write(id, 0, n, row, row).ok());
    }
    ASSERT_TRUE(store_->truncate(id, n).ok());
  }

  void rewrite(SequenceId id, std::vector<Written>& written) {
    if (written.empty()) return;
    const auto position = static_cast<uint32_t>(random_() % written.size());
    const Status status = rewrite_keys(*store_, id, position, next_number_);
    if (succeeded(status)) written[position].key = next_number_++;
  }

  void copy(SequenceId id, std::vector<Written>& written) {
    if (written.empty()) return;
    const auto from = static_cast<uint32_t>(random_() % written.size());
    const auto to = static_cast<uint32_t>(random_() % written.size());
    if (!succeeded(store_->unshare(id, to))) return;
    store_->copy_position(id, from, to);
    written[to] = written[from];
  }

  void append_position(SequenceId id, std::vector<Written>& written) {
    if (succeeded(append(*store_, id, next_number_))) written.push_back(next_number_++);
  }

  // There may be no pages left, but nothing else fails.
  bool succeeded(const Status& status) {
    if (!status.ok()) {
      EXPECT_EQ(status.error().code, ErrorCode::out_of_memory);
    }
    return status.ok();
  }

  std::mt19937 random_;
  std::shared_ptr<KvStore> store_;
  std::map<SequenceId, std::vector<Written>> truth_;
  uint32_t next_number_ = 0;
};

TEST_P(AgainstTheTruth, EveryOperationKeepsEverySequence) {
  for (int i = 0; i < 1500; ++i) {
    step();
    expect_consistent_stats();
    if (i % 25 == 0) expect_truth();
    if (HasFailure()) FAIL() << "at step " << i;
  }
  expect_truth();
  free_all();
}

INSTANTIATE_TEST_SUITE_P(Kinds, AgainstTheTruth, testing::Range(size_t{0}, 3 * kNKvKinds));

}  // namespace
}  // namespace kinglet
