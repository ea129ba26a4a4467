#include "kv/kv_store.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace kinglet {
namespace {

constexpr uint32_t kLayers = 2;
constexpr uint32_t kHeads = 2;
constexpr uint32_t kDim = 40;
constexpr uint32_t kPage = 4;
constexpr uint32_t kPages = 12;

std::shared_ptr<KvStore> make_store(KvKind kind = KvKind::f32) {
  auto store = KvStore::create({.n_layers = kLayers,
                                .n_kv_heads = kHeads,
                                .head_dim = kDim,
                                .k_kind = kind,
                                .v_kind = kind,
                                .page_positions = kPage,
                                .n_pages = kPages,
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

// What a row reads back as once it is stored.
std::vector<float> stored(KvKind kind, const float* row) {
  const KvKindInfo& info = kv_kind_info(kind);
  std::vector<std::byte> codes(static_cast<size_t>(info.code_bytes(kDim)));
  std::vector<float> scales(static_cast<size_t>(info.n_scales(kDim)));
  info.write_row(row, kDim, codes.data(), scales.data());
  std::vector<float> out(kDim);
  info.read_row(codes.data(), scales.data(), 0, kDim, out.data());
  return out;
}

void expect_contents(const KvStore& store, SequenceId id, const std::vector<uint32_t>& numbers) {
  const KvKind kind = store.config().k_kind;
  ASSERT_EQ(store.n_positions(id), numbers.size());
  std::vector<float> out(kDim);
  for (uint32_t position = 0; position < numbers.size(); ++position) {
    for (uint32_t layer = 0; layer < kLayers; ++layer) {
      const auto keys = row_of(numbers[position], layer);
      const auto values = negative(keys);
      for (uint32_t head = 0; head < kHeads; ++head) {
        ASSERT_TRUE(store.read_key(id, layer, position, head, out).ok());
        ASSERT_EQ(out, stored(kind, keys.data() + head * kDim)) << "position " << position;
        ASSERT_TRUE(store.read_value(id, layer, position, head, out).ok());
        ASSERT_EQ(out, stored(kind, values.data() + head * kDim)) << "position " << position;
      }
    }
  }
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
  auto store = KvStore::create({.n_layers = 1,
                                .n_kv_heads = 1,
                                .head_dim = 32,
                                .k_kind = KvKind::q4,
                                .v_kind = KvKind::q4,
                                .page_positions = 16,
                                .n_pages = 2000 / 16 + 64 + 1});
  ASSERT_TRUE(store.ok());
  KvStore& kv = *store.value();
  const std::vector<float> row(32, 1.0f);
  const SequenceId parent = kv.allocate(0).value();
  ASSERT_TRUE(kv.reserve(parent, 2000).ok());
  ASSERT_TRUE(kv.record(parent, 2000).ok());
  const uint32_t n_before = kv.stats().n_used;
  for (int fork = 0; fork < 64; ++fork) {
    const SequenceId child = kv.fork(parent).value();
    ASSERT_TRUE(kv.reserve(child, 2016).ok());
    for (uint32_t i = 0; i < 16; ++i) ASSERT_TRUE(kv.write(child, 0, 2000 + i, row, row).ok());
    ASSERT_TRUE(kv.record(child, 16).ok());
  }
  EXPECT_EQ(kv.stats().n_used, n_before + 64u);  // 2,000 fills whole pages: none is copied
  EXPECT_EQ(kv.stats().n_page_copies, 0u);
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

TEST(KvStore, MakesRowsFiniteAndCountsThem) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (size_t kind = 0; kind < kNKvKinds; ++kind) {
    const auto store = make_store(static_cast<KvKind>(kind));
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

// Random operations against plain lists of numbers.
class AgainstTheTruth : public testing::TestWithParam<size_t> {};

TEST_P(AgainstTheTruth, EveryOperationKeepsEverySequence) {
  std::mt19937 random(static_cast<uint32_t>(GetParam()) + 1);
  const auto store = make_store(static_cast<KvKind>(GetParam()));
  std::map<SequenceId, std::vector<uint32_t>> truth;
  uint32_t next_number = 0;
  const auto any = [&] {
    auto it = truth.begin();
    std::advance(it, static_cast<ptrdiff_t>(random() % truth.size()));
    return it;
  };
  for (int step = 0; step < 1500; ++step) {
    const auto operation = static_cast<uint32_t>(random() % 16);
    if (truth.empty() || operation == 0) {
      const auto id = store->allocate(static_cast<uint32_t>(random() % (3 * kPage)));
      if (id.ok()) truth[id.value()] = {};
    } else if (operation == 1) {
      const auto& [id, numbers] = *any();
      const auto child = store->fork(id);
      ASSERT_TRUE(child.ok());
      const std::vector<uint32_t> copy = numbers;
      truth[child.value()] = copy;
    } else if (operation == 2) {
      const auto it = any();
      ASSERT_TRUE(store->free(it->first).ok());
      truth.erase(it);
    } else if (operation == 3) {
      auto& [id, numbers] = *any();
      numbers.resize(random() % (numbers.size() + 1));
      ASSERT_TRUE(store->truncate(id, static_cast<uint32_t>(numbers.size())).ok());
    } else if (operation == 4) {
      ASSERT_TRUE(store->compact_sequence(any()->first).ok());
    } else if (operation == 5) {
      (void)store->defragment();
      EXPECT_EQ(store->stats().n_holes, 0u);
    } else if (operation == 6) {
      // A step that fails half way, and is rolled back.
      const auto& [id, numbers] = *any();
      const auto n = static_cast<uint32_t>(numbers.size());
      if (store->reserve(id, n + 2).ok()) {
        const auto row = row_of(9999, 0);
        ASSERT_TRUE(store->write(id, 0, n, row, row).ok());
      }
      ASSERT_TRUE(store->truncate(id, n).ok());
    } else {
      auto& [id, numbers] = *any();
      const Status status = append(*store, id, next_number);
      if (status.ok())
        numbers.push_back(next_number++);
      else
        EXPECT_EQ(status.error().code, ErrorCode::out_of_memory);
    }
    const KvStoreStats stats = store->stats();
    EXPECT_EQ(stats.n_used + stats.n_free, kPages);
    EXPECT_EQ(stats.n_positions + stats.n_wasted, uint64_t{stats.n_used} * kPage);
    if (step % 25 == 0) {
      for (const auto& [id, numbers] : truth) expect_contents(*store, id, numbers);
    }
  }
  for (const auto& [id, numbers] : truth) expect_contents(*store, id, numbers);
  for (const auto& [id, numbers] : truth) ASSERT_TRUE(store->free(id).ok());
  EXPECT_EQ(store->stats().n_free, kPages);
}

INSTANTIATE_TEST_SUITE_P(Kinds, AgainstTheTruth, testing::Range(size_t{0}, kNKvKinds));

}  // namespace
}  // namespace kinglet
