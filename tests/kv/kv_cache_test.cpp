#include "kv/kv_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "kv/rows.h"

namespace kinglet {
namespace {

// No two layers have the same heads.
const std::vector<RowShape> kRows = {{0, 2, 40}, {1, 1, 64}, {4, 3, 5}};
constexpr uint32_t kPage = 4;
constexpr uint32_t kPages = 12;
constexpr uint32_t kCapacity = kPage * kPages;

struct Layout {
  uint32_t page_positions;
  uint32_t n_pages;
};

std::shared_ptr<KvStore> make_store(KvKind k_kind = KvKind::f32, KvKind v_kind = KvKind::f32,
                                    Layout layout = {kPage, kPages}) {
  auto store = KvStore::create({.rows = kRows,
                                .k_kind = k_kind,
                                .v_kind = v_kind,
                                .page_positions = layout.page_positions,
                                .n_pages = layout.n_pages});
  EXPECT_TRUE(store.ok());
  return store.value();
}

KvCache fork_of(const KvCache& cache) {
  auto forked = cache.fork();
  EXPECT_TRUE(forked.ok());
  return std::move(forked.value());
}

// The keys of a position, made from a number; the values are the negatives of the keys.
std::vector<float> row_of(uint32_t number, uint32_t layer) {
  std::mt19937 random(number * 7 + layer);
  std::vector<float> row(size_t{kRows[layer].n_kv_heads} * kRows[layer].head_dim);
  for (float& x : row) x = static_cast<float>(random() % 2001) - 1000.0f;
  return row;
}

std::vector<float> negative(std::vector<float> row) {
  for (float& x : row) x = -x;
  return row;
}

// Writes position i of a step.
Status write(KvCache& cache, uint32_t i, uint32_t number) {
  KINGLET_TRY(cache.reserve(i + 1));
  for (uint32_t layer = 0; layer < kRows.size(); ++layer) {
    const auto row = row_of(number, layer);
    KINGLET_TRY(cache.write(layer, i, row, negative(row)));
  }
  return {};
}

Status append(KvCache& cache, uint32_t number) {
  KINGLET_TRY(write(cache, 0, number));
  return cache.commit(1);
}

// A cache of the positions 0, 1, … n - 1, with the rows of row_of(position).
KvCache cache_of(std::shared_ptr<KvStore> store, uint32_t n) {
  KvCache cache(std::move(store), kCapacity);
  for (uint32_t i = 0; i < n; ++i) EXPECT_TRUE(append(cache, i).ok());
  return cache;
}

// A row as a store of this kind holds it.
struct StoredRow {
  std::vector<std::byte> codes;
  std::vector<float> scales;
  bool operator==(const StoredRow&) const = default;
};

StoredRow encoded(KvKind kind, const float* row, uint32_t head_dim) {
  const KvKindInfo& info = kv_kind_info(kind);
  StoredRow stored{std::vector<std::byte>(static_cast<size_t>(info.code_bytes(head_dim))),
                   std::vector<float>(static_cast<size_t>(info.n_scales(head_dim)))};
  info.write_row(row, head_dim, stored.codes.data(), stored.scales.data());
  return stored;
}

// The row that attention would read there.
StoredRow found(const KvView& view, const KvHead& head, uint32_t position, uint32_t head_dim) {
  const KvRows rows = view.rows(head, position);
  const KvKindInfo& info = kv_kind_info(head.kind_at(position));
  return {{rows.codes, rows.codes + info.code_bytes(head_dim)},
          {rows.scales, rows.scales + info.n_scales(head_dim)}};
}

// What attention must read there, if it is a row of the beginning or of a kind of floats.
StoredRow expected(KvKind kind, uint32_t position, const float* row, uint32_t head_dim) {
  std::vector<float> values(row, row + head_dim);
  const bool is_exact = kv_kind_info(kind).has_integer_codes && position < kExactPositions;
  if (is_exact && kv_kind_info(kind).rotates) rotate_blocks(values.data(), head_dim);
  return encoded(is_exact ? KvKind::f16 : kind, values.data(), head_dim);
}

// The numbers of the rows that were last written at a position; a value may stay while its key is
// rewritten. A row that moved into the beginning was rounded before.
struct Written {
  uint32_t key;
  uint32_t value;
  bool was_rounded = false;
  Written(uint32_t number) : key(number), value(number) {}  // NOLINT: implicit by design
};

// Calls f(codes, scales) for all rows, in the order in which they are saved.
template <class F>
void for_each_row(const KvCache& cache, const F& f) {
  for (uint32_t position = cache.first_position(); position < cache.size(); ++position) {
    for (uint32_t layer = 0; layer < kRows.size(); ++layer)
      cache.for_each_row_at(layer, position, f);
  }
}

template <class F>
void for_each_centre(const KvCache& cache, const F& f) {
  if (!kv_kind_info(cache.store().config().k_kind).has_integer_codes || cache.size() == 0) return;
  for (uint32_t layer = 0; layer < kRows.size(); ++layer) cache.for_each_centre(layer, f);
}

// Kinds with integer codes store later keys without a centre, which depends on what came first.
bool is_known_by_bit(KvKind kind, uint32_t position, const Written& written) {
  return !kv_kind_info(kind).has_integer_codes ||
         (position < kExactPositions && !written.was_rounded);
}

// Rows of different numbers differ by about 800.
void expect_near(const std::vector<float>& found, const float* row, KvKind kind) {
  double sum = 0;
  for (size_t i = 0; i < found.size(); ++i) sum += std::pow(found[i] - row[i], 2);
  const double most = kind == KvKind::q4 ? 150 : 12;
  ASSERT_LT(std::sqrt(sum / static_cast<double>(found.size())), most);
}

// Compares bit for bit, both what attention reads and what is saved; rows that were rounded in an
// unknown way are compared by their numbers.
void expect_contents(const KvCache& cache, const std::vector<Written>& written) {
  const auto [k_kind, v_kind] =
      std::pair(cache.store().config().k_kind, cache.store().config().v_kind);
  ASSERT_EQ(cache.size(), written.size());
  std::vector<StoredRow> saved;
  for_each_row(cache, [&](std::span<const std::byte> codes, std::span<const float> scales) {
    saved.push_back({{codes.begin(), codes.end()}, {scales.begin(), scales.end()}});
  });
  auto next = saved.begin();
  for (uint32_t position = 0; position < written.size(); ++position) {
    const Written& numbers = written[position];
    for (uint32_t layer = 0; layer < kRows.size(); ++layer) {
      const uint32_t head_dim = kRows[layer].head_dim;
      const auto keys = row_of(numbers.key, layer);
      const auto values = negative(row_of(numbers.value, layer));
      for (uint32_t head = 0; head < kRows[layer].n_kv_heads; ++head) {
        const KvView view = cache.view(layer, head);
        const auto expect_row = [&](KvKind kind, const KvHead& side, const float* row,
                                    const std::vector<float>& restored) {
          const StoredRow stored = found(view, side, position, head_dim);
          ASSERT_EQ(*next++, stored) << position;
          if (!is_known_by_bit(kind, position, numbers)) return expect_near(restored, row, kind);
          ASSERT_EQ(stored, expected(kind, position, row, head_dim)) << position;
        };
        expect_row(k_kind, view.keys, keys.data() + head * head_dim,
                   key_at(cache, layer, position, head));
        expect_row(v_kind, view.values, values.data() + head * head_dim,
                   value_at(cache, layer, position, head));
        if (testing::Test::HasFatalFailure()) FAIL() << "at position " << position;
      }
    }
  }
  EXPECT_EQ(next, saved.end());
}

// The rows of n positions that count up from 0.
std::vector<Written> first(uint32_t n) {
  std::vector<Written> written;
  for (uint32_t i = 0; i < n; ++i) written.push_back(i);
  return written;
}

TEST(KvCache, GivesBackWhatWasCommitted) {
  for (size_t kind = 0; kind < kNKvKinds; ++kind) {
    for (const Layout layout : {Layout{kCapacity, 1}, Layout{kPage, kPages}}) {
      const auto other = static_cast<KvKind>((kind + 2) % kNKvKinds);
      const auto store = make_store(static_cast<KvKind>(kind), other, layout);
      expect_contents(cache_of(store, 10), first(10));
    }
  }
}

TEST(KvCache, AttentionSeesWhatIsWritten) {
  KvCache cache = cache_of(make_store(), 1);
  ASSERT_TRUE(write(cache, 0, 7).ok());
  for (uint32_t layer = 0; layer < kRows.size(); ++layer) {
    const uint32_t head = kRows[layer].n_kv_heads - 1;
    const uint32_t head_dim = kRows[layer].head_dim;
    const auto row = row_of(7, layer);
    const std::vector<float> last(row.end() - static_cast<ptrdiff_t>(head_dim), row.end());
    EXPECT_EQ(key_at(cache, layer, 1, head), last);
    EXPECT_EQ(value_at(cache, layer, 1, head), negative(last));
  }
}

TEST(KvCache, NamesTheSideOfAWrongLength) {
  KvCache cache(make_store(), kCapacity);
  const std::vector<float> right(80);
  const std::vector<float> wrong(79);
  ASSERT_TRUE(cache.reserve(1).ok());
  EXPECT_EQ(cache.write(0, 0, wrong, wrong).error().message,
            "KV cache: a key has 79 elements, expected 80");
  EXPECT_EQ(cache.write(0, 0, right, wrong).error().message,
            "KV cache: a value has 79 elements, expected 80");
  // The next layer's rows are shorter.
  EXPECT_EQ(cache.write(1, 0, right, right).error().message,
            "KV cache: a key has 80 elements, expected 64");
  EXPECT_EQ(cache.write(3, 0, right, right).error().message,
            "KV cache: layer 3 of 3 does not exist");
}

TEST(KvCache, RefusesPositionsPastItsCapacity) {
  KvCache cache = cache_of(make_store(), kCapacity);
  const auto status = cache.reserve(1);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::context_full);
  EXPECT_EQ(status.error().message,
            "the context is full: it holds 48 of 48 positions, and 1 more do not fit");
  EXPECT_EQ(cache.reserve(UINT32_MAX).error().code, ErrorCode::context_full);
  expect_contents(cache, first(kCapacity));
}

TEST(KvCache, RefusesPositionsThatAreNotReserved) {
  KvCache cache = cache_of(make_store(), 1);
  const std::vector<float> row = row_of(1, 0);
  EXPECT_EQ(cache.write(0, 0, row, row).error().message,
            "KV cache: position 0 of a step of 0 is not reserved");
  ASSERT_TRUE(cache.reserve(2).ok());
  ASSERT_TRUE(cache.write(0, 1, row, row).ok());
  EXPECT_EQ(cache.write(0, 2, row, row).error().message,
            "KV cache: position 2 of a step of 2 is not reserved");
  cache.rollback();
  EXPECT_EQ(cache.write(0, 0, row, row).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(cache.commit(1).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(cache.size(), 1u);
  // The position that was rolled back can be written again.
  ASSERT_TRUE(append(cache, 1).ok());
  expect_contents(cache, first(2));
}

TEST(KvCache, CommitsAPartOfAStep) {
  KvCache cache = cache_of(make_store(), 2);
  for (uint32_t i = 2; i < 8; ++i) ASSERT_TRUE(write(cache, i - 2, i).ok());
  ASSERT_TRUE(cache.commit(1).ok() && cache.commit(2).ok());
  expect_contents(cache, first(5));
  EXPECT_EQ(cache.commit(4).error().message, "KV cache: cannot commit 4 positions: 3 are reserved");
  auto fork = cache.fork();
  ASSERT_TRUE(fork.ok());
  expect_contents(fork.value(), first(5));
  ASSERT_TRUE(append(fork.value(), 7).ok());
  ASSERT_TRUE(cache.commit(1).ok());
  expect_contents(cache, first(6));
  cache.rollback();
  ASSERT_TRUE(append(cache, 6).ok());
  expect_contents(cache, first(7));
}

TEST(KvCache, CountsPositionsWithoutLayers) {
  auto store = KvStore::create({.page_positions = 4, .n_pages = 2});
  ASSERT_TRUE(store.ok());
  KvCache cache(store.value(), 8);
  ASSERT_TRUE(cache.reserve(3).ok());
  ASSERT_TRUE(cache.commit(3).ok());
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_EQ(cache.reserve(6).error().code, ErrorCode::context_full);
}

// NaN or infinity in the last layer leaves no trace in the layers before it.
TEST(KvCache, AStepThatFailsLeavesEveryLayerAsItWas) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Layout layout : {Layout{kCapacity, 1}, Layout{kPage, kPages}}) {
    const auto store = make_store(KvKind::int8, KvKind::f16, layout);
    KvCache cache = cache_of(store, 6);
    const uint32_t n_used = store->n_used();
    for (const float bad : {std::nanf(""), kInfinity, -kInfinity}) {
      for (uint32_t i = 0; i < 4; ++i) ASSERT_TRUE(write(cache, i, 6 + i).ok());
      ASSERT_TRUE(cache.reserve(5).ok());
      for (uint32_t layer = 0; layer < 2; ++layer) {
        ASSERT_TRUE(cache.write(layer, 4, row_of(10, layer), row_of(10, layer)).ok());
      }
      const auto good = row_of(10, 2);
      auto row = good;
      row.back() = bad;
      EXPECT_EQ(cache.write(2, 4, row, good).error().message,
                "KV cache: the key of layer 2, position 10, head 2 contains NaN or infinity");
      const Status refused = cache.write(2, 4, good, row);
      ASSERT_FALSE(refused.ok());
      EXPECT_EQ(refused.error().code, ErrorCode::not_finite);
      cache.rollback();
      EXPECT_EQ(store->n_used(), n_used);
      expect_contents(cache, first(6));
    }
    ASSERT_TRUE(append(cache, 6).ok());
    expect_contents(cache, first(7));
  }
}

TEST(KvCache, TruncatesButNeverGrows) {
  const auto store = make_store();
  KvCache cache = cache_of(store, 10);
  ASSERT_TRUE(cache.truncate(5).ok());
  EXPECT_EQ(store->n_used(), 2u);
  EXPECT_EQ(cache.truncate(6).error().message,
            "KV cache: cannot truncate to 6 positions: it holds 5");
  ASSERT_TRUE(append(cache, 77).ok());
  expect_contents(cache, {0, 1, 2, 3, 4, 77});
  ASSERT_TRUE(cache.truncate(0).ok());
  EXPECT_EQ(store->n_used(), 0u);
}

TEST(KvCache, GivesItsPagesBack) {
  const auto store = make_store();
  {
    KvCache cache = cache_of(store, 6);
    KvCache moved = std::move(cache);
    EXPECT_EQ(store->n_used(), 2u);
    expect_contents(moved, first(6));
  }
  EXPECT_EQ(store->n_used(), 0u);
}

TEST(KvCache, SaysHowManyPagesAreMissingAndChangesNothing) {
  const auto store = make_store();
  const KvCache large = cache_of(store, kPage * (kPages - 2));
  KvCache cache = cache_of(store, 3);
  const KvCache fork = fork_of(cache);
  const std::vector<uint32_t> pages(cache.pages().begin(), cache.pages().end());
  const Status refused = cache.reserve(kPage + 1);  // needs a copy of its page, and another page
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
  EXPECT_EQ(refused.error().message, "KV cache: 2 pages of 4 positions are needed, but 1 are free");
  EXPECT_EQ(cache.overwrite(kPage + 1).error().code, ErrorCode::out_of_memory);
  EXPECT_TRUE(std::equal(pages.begin(), pages.end(), cache.pages().begin(), cache.pages().end()));
  EXPECT_EQ(store->n_free(), 1u);
  expect_contents(cache, first(3));
  EXPECT_TRUE(cache.reserve(1).ok());
}

TEST(KvCache, ForksSharePagesUntilOneWrites) {
  const auto store = make_store();
  auto parent = std::make_unique<KvCache>(cache_of(store, 6));
  KvCache child = fork_of(*parent);
  EXPECT_EQ(store->n_used(), 2u);
  EXPECT_EQ(store->n_page_copies(), 0u);
  for (const uint32_t page : parent->pages()) EXPECT_EQ(store->n_users(page), 2u);

  ASSERT_TRUE(append(child, 100).ok());
  EXPECT_EQ(store->n_page_copies(), 1u);  // only the partly filled last page
  EXPECT_EQ(store->n_used(), 3u);
  ASSERT_TRUE(append(*parent, 200).ok());
  EXPECT_EQ(store->n_page_copies(), 1u);  // the parent is now the only user of its page
  expect_contents(*parent, {0, 1, 2, 3, 4, 5, 200});
  expect_contents(child, {0, 1, 2, 3, 4, 5, 100});

  parent.reset();
  expect_contents(child, {0, 1, 2, 3, 4, 5, 100});
}

TEST(KvCache, InOnePieceIsCopiedByAFork) {
  const auto store = make_store(KvKind::q4, KvKind::f32, {kCapacity, 1});
  KvCache parent = cache_of(store, 6);
  ASSERT_TRUE(write(parent, 0, 99).ok());  // in a step that the fork does not know of
  KvCache child = fork_of(parent);
  EXPECT_NE(&child.store(), store.get());
  EXPECT_EQ(child.store().n_page_copies(), 0u);
  ASSERT_TRUE(append(child, 100).ok());
  ASSERT_TRUE(parent.commit(1).ok());
  expect_contents(parent, {0, 1, 2, 3, 4, 5, 99});
  expect_contents(child, {0, 1, 2, 3, 4, 5, 100});
}

TEST(KvCache, ManyForksTakeOnlyTheirOwnPages) {
  constexpr uint32_t kPositions = 2000;
  constexpr uint32_t kWritten = 16;
  constexpr uint32_t kForks = 64;
  // Page sizes that divide 2,000 positions, and sizes that do not: then a fork that writes copies
  // the last page.
  for (const uint32_t page_positions : {16u, 20u, 24u, 32u, 48u}) {
    const uint32_t n_whole = kPositions / page_positions;
    const uint32_t n_shared = (kPositions - 1) / page_positions + 1;
    const uint32_t n_own = (kPositions + kWritten - 1) / page_positions + 1 - n_whole;
    const auto created = KvStore::create({.rows = {{0, 1, 32}},
                                          .k_kind = KvKind::q4,
                                          .v_kind = KvKind::q4,
                                          .page_positions = page_positions,
                                          .n_pages = n_shared + kForks * n_own});
    ASSERT_TRUE(created.ok());
    const KvStore& store = *created.value();
    const std::vector<float> row(32, 1.0f);
    KvCache parent(created.value(), kPositions + kWritten);
    ASSERT_TRUE(parent.overwrite(kPositions).ok());
    ASSERT_EQ(store.n_used(), n_shared);
    std::vector<KvCache> forks;
    for (uint32_t i = 0; i < kForks; ++i) forks.push_back(fork_of(parent));
    ASSERT_EQ(store.n_used(), n_shared);
    for (KvCache& fork : forks) {
      for (uint32_t i = 0; i < kWritten; ++i) {
        ASSERT_TRUE(fork.reserve(1).ok());
        ASSERT_TRUE(fork.write(0, 0, row, row).ok());
        ASSERT_TRUE(fork.commit(1).ok());
      }
    }
    EXPECT_EQ(store.n_used(), n_shared + kForks * n_own) << page_positions;
    EXPECT_EQ(store.n_page_copies(), n_whole == n_shared ? 0u : kForks) << page_positions;
    forks.clear();
    EXPECT_EQ(store.n_used(), n_shared);
  }
}

TEST(KvCache, DropsPositionsAndMovesTheOthersDown) {
  const auto store = make_store(KvKind::fp8_e4m3, KvKind::q8);
  KvCache cache = cache_of(store, 10);
  const KvCache fork = fork_of(cache);
  EXPECT_EQ(cache.drop(5, 6).error().message,
            "KV cache: cannot drop 6 positions from 5: it holds 10");
  ASSERT_TRUE(cache.drop(2, 5).ok());
  expect_contents(cache, {0, 1, 7, 8, 9});
  expect_contents(fork, first(10));
}

// Random calls, compared with plain lists of numbers, for every kind of keys and of values, in
// pages and in one piece. Sequences are longer than their beginnings.
constexpr uint32_t kLong = 120;
constexpr uint32_t kManyPages = 70;

class AgainstTheTruth : public testing::TestWithParam<size_t> {
 protected:
  struct Sequence {
    std::unique_ptr<KvCache> cache;
    std::vector<Written> written;
  };

  AgainstTheTruth() : random_(static_cast<uint32_t>(GetParam()) + 1), store_(store()) {}

  // Makes one of the calls, on any sequence.
  void step() {
    const uint32_t call = number(16);
    if (sequences_.empty() || (call == 0 && sequences_.size() < 6)) {
      sequences_.push_back({std::make_unique<KvCache>(store_, kLong), {}});
      return;
    }
    const uint32_t i = number(static_cast<uint32_t>(sequences_.size()));
    Sequence& sequence = sequences_[i];
    switch (call) {
      case 1:
        return fork(sequence);
      case 2:
        sequences_.erase(sequences_.begin() + static_cast<ptrdiff_t>(i));
        return;
      case 3:
        sequence.written.resize(number(sequence.cache->size() + 1), 0);
        ASSERT_TRUE(sequence.cache->truncate(static_cast<uint32_t>(sequence.written.size())).ok());
        return;
      case 4:
        return fail_half_way(*sequence.cache);
      case 5:
        return rewrite(sequence);
      case 6:
        return drop(sequence);
      case 7:
        return overwrite(sequence);
      default:
        return append_positions(sequence, 1 + number(12));
    }
  }

  void expect_truth() {
    for (const Sequence& one : sequences_) expect_contents(*one.cache, one.written);
  }

  void expect_every_page_counted() {
    if (store_->config().n_pages == 1) return;
    std::vector<uint32_t> n_users(kManyPages);
    for (const Sequence& one : sequences_) {
      for (const uint32_t page : one.cache->pages()) ++n_users[page];
    }
    for (uint32_t page = 0; page < kManyPages; ++page) {
      EXPECT_EQ(store_->n_users(page), n_users[page]);
    }
    EXPECT_EQ(store_->n_free(), std::count(n_users.begin(), n_users.end(), 0u));
  }

  void free_all() {
    sequences_.clear();
    EXPECT_EQ(store_->n_used(), 0u);
  }

 private:
  static std::shared_ptr<KvStore> store() {
    const size_t i = GetParam();
    const auto k_kind = static_cast<KvKind>(i % kNKvKinds);
    const auto v_kind = static_cast<KvKind>((i + i / kNKvKinds) % kNKvKinds);
    return make_store(k_kind, v_kind, i % 3 == 2 ? Layout{kLong, 1} : Layout{kPage, kManyPages});
  }

  uint32_t number(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  void fork(const Sequence& sequence) {
    if (sequences_.size() == 6) return;
    auto cache = std::make_unique<KvCache>(fork_of(*sequence.cache));
    sequences_.push_back({std::move(cache), std::vector<Written>(sequence.written)});
  }

  // Rolls a step back after one layer was written.
  void fail_half_way(KvCache& cache) {
    if (succeeded(cache.reserve(2))) {
      const auto row = row_of(9999, 0);
      ASSERT_TRUE(cache.write(0, 1, row, row).ok());
    }
    cache.rollback();
  }

  // Replaces the keys from a position on by those of other numbers.
  void rewrite(Sequence& sequence) {
    if (sequence.written.empty()) return;
    const uint32_t position = number(sequence.cache->size());
    if (!succeeded(sequence.cache->unshare(position))) return;
    const uint32_t n = sequence.cache->size() - position;
    for (uint32_t layer = 0; layer < kRows.size(); ++layer) {
      const uint32_t head_dim = kRows[layer].head_dim;
      uint32_t i = 0;  // first counts positions, then heads
      sequence.cache->rewrite_keys(layer, position, [&](float* key) {
        const auto row = row_of(next_number_ + i % n, layer);
        std::copy_n(row.data() + i / n * head_dim, head_dim, key);
        ++i;
      });
      ASSERT_EQ(i, n * kRows[layer].n_kv_heads);
    }
    for (uint32_t i = 0; i < n; ++i) sequence.written[position + i].key = next_number_++;
  }

  void drop(Sequence& sequence) {
    const uint32_t from = number(sequence.cache->size() + 1);
    const uint32_t n = number(sequence.cache->size() - from + 1);
    if (!succeeded(sequence.cache->drop(from, n))) return;
    for (size_t i = kExactPositions; i < sequence.written.size(); ++i) {
      sequence.written[i].was_rounded = true;
    }
    const auto begin = sequence.written.begin() + static_cast<ptrdiff_t>(from);
    sequence.written.erase(begin, begin + static_cast<ptrdiff_t>(n));
  }

  // Overwrites a cache with the rows of another, as restoring a state does.
  void overwrite(Sequence& sequence) {
    std::vector<std::pair<std::vector<std::byte>, std::vector<float>>> rows;
    const Sequence& other = sequences_[number(static_cast<uint32_t>(sequences_.size()))];
    for_each_row(*other.cache,
                 [&](std::span<const std::byte> codes, std::span<const float> scales) {
                   rows.push_back({{codes.begin(), codes.end()}, {scales.begin(), scales.end()}});
                 });
    std::vector<std::vector<float>> centres;
    for_each_centre(*other.cache, [&](std::span<const float> centre) {
      centres.emplace_back(centre.begin(), centre.end());
    });
    if (!succeeded(sequence.cache->overwrite(other.cache->size()))) return;
    auto next = rows.begin();
    for_each_row(*sequence.cache, [&](std::span<std::byte> codes, std::span<float> scales) {
      std::copy(next->first.begin(), next->first.end(), codes.begin());
      std::copy(next->second.begin(), next->second.end(), scales.begin());
      ++next;
    });
    auto centre = centres.begin();
    for_each_centre(*sequence.cache, [&](std::span<float> to) {
      std::copy(centre->begin(), centre->end(), to.begin());
      ++centre;
    });
    if (&sequence != &other) sequence.written = other.written;
  }

  void append_positions(Sequence& sequence, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) {
      const Status status = append(*sequence.cache, next_number_);
      if (!succeeded(status)) return sequence.cache->rollback();
      sequence.written.push_back(next_number_++);
    }
  }

  // There may be no room left, but no other error may occur.
  bool succeeded(const Status& status) {
    if (!status.ok()) {
      EXPECT_TRUE(status.error().code == ErrorCode::out_of_memory ||
                  status.error().code == ErrorCode::context_full)
          << status.error().message;
    }
    return status.ok();
  }

  std::mt19937 random_;
  std::shared_ptr<KvStore> store_;
  std::vector<Sequence> sequences_;
  uint32_t next_number_ = 0;
};

TEST_P(AgainstTheTruth, EveryCallKeepsEverySequence) {
  for (int i = 0; i < 1500; ++i) {
    step();
    expect_every_page_counted();
    if (i % 25 == 0) expect_truth();
    if (HasFailure()) FAIL() << "at step " << i;
  }
  expect_truth();
  free_all();
}

INSTANTIATE_TEST_SUITE_P(Kinds, AgainstTheTruth, testing::Range(size_t{0}, 3 * kNKvKinds));

}  // namespace
}  // namespace kinglet
