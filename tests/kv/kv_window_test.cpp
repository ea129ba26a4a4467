// Caches that keep only a window of their positions.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "kv/kv_cache.h"
#include "kv/kv_plan.h"
#include "kv/rows.h"

namespace kinglet {
namespace {

constexpr uint32_t kBatch = 40;
constexpr uint32_t kMostPositions = 20000;

uint32_t n_pages(const KvPlan& plan, size_t group) { return plan.groups[group].store.n_pages; }

TEST(KvPlan, HoldsWindowsApartFromAllPositions) {
  const std::vector<RowShape> rows = {{0, 1, 32, 100}, {1, 2, 16}, {2, 1, 32, 9}, {3, 1, 32, 100}};
  const KvPlan plan = plan_windows(rows, KvKind::f32, KvKind::int8, 1 << 17, 64);
  ASSERT_EQ(plan.groups.size(), 3u);
  EXPECT_EQ(plan.groups[0].window, 0u);
  EXPECT_EQ(plan.groups[1].window, 9u);
  EXPECT_EQ(plan.groups[2].window, 100u);
  const std::vector<std::pair<uint32_t, uint32_t>> expected = {{2, 0}, {0, 0}, {1, 0}, {2, 1}};
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(plan.places[i].group, expected[i].first);
    EXPECT_EQ(plan.places[i].layer, expected[i].second);
    const KvStoreConfig& store = plan.groups[plan.places[i].group].store;
    EXPECT_EQ(store.rows[plan.places[i].layer].layer, i);
    EXPECT_EQ(store.k_kind, KvKind::f32);
    EXPECT_EQ(store.v_kind, KvKind::int8);
  }
  EXPECT_EQ(plan.groups[0].store.page_positions, 1u << 17);
  EXPECT_EQ(n_pages(plan, 0), 1u);
}

// Gemma 3 1B has 22 layers with a window of 512, and a head of 256 in each.
TEST(KvPlan, KeepsAFewWindowsMoreAsTheBudgetAllows) {
  std::vector<RowShape> rows;
  for (uint32_t layer = 0; layer < 26; ++layer) {
    rows.push_back({layer, 1, 256, layer % 6 == 5 ? 0u : 512u});
  }
  const auto pages = [&](KvKind kind, uint32_t n_ctx) {
    const KvPlan plan = plan_windows(rows, kind, kind, n_ctx, 64);
    return plan.groups.size() == 1 ? 0 : n_pages(plan, 1);
  };
  EXPECT_EQ(pages(KvKind::f32, 32768), 11u + 2 * 10);
  EXPECT_EQ(pages(KvKind::q4, 32768), 11u + 8 * 10);
  EXPECT_EQ(pages(KvKind::f32, 31 * 64 + 1), 31u);
  EXPECT_EQ(pages(KvKind::f32, 31 * 64), 0u) << "no less than all positions";
}

TEST(KvPlan, TellsWhatATokenSees) {
  EXPECT_EQ(first_seen(0, 1000), 0u);
  EXPECT_EQ(first_seen(1, 1000), 1000u);
  EXPECT_EQ(first_seen(100, 99), 0u);
  EXPECT_EQ(first_seen(100, 100), 1u);
  EXPECT_EQ(first_seen(UINT32_MAX, UINT32_MAX), 1u);
  EXPECT_EQ(first_kept(100, 1000, 0), 896u);
  EXPECT_EQ(first_kept(100, 1000, 6), 832u);
  EXPECT_EQ(first_kept(100, 1000, 5000), 0u);
}

// A cache with the fewest pages that a plan gives, and the number last written at each position.
class TrackedCache {
 public:
  explicit TrackedCache(uint32_t window) : cache_(make_store(window), kMostPositions, window) {}

  uint32_t size() const { return cache_.size(); }
  KvCache& cache() { return cache_; }

  void append(uint32_t n) {
    ASSERT_TRUE(cache_.reserve(n).ok());
    for (uint32_t i = 0; i < n; ++i) {
      numbers_.push_back(++last_);
      const std::vector<float> row = {static_cast<float>(last_), 1.0f};
      ASSERT_TRUE(cache_.write(0, i, row, row).ok());
    }
    ASSERT_TRUE(cache_.commit(n).ok());
  }

  void truncate(uint32_t n) {
    const uint32_t place = cache_.reachable(n);
    ASSERT_LE(place, n);
    ASSERT_TRUE(cache_.truncate(place).ok());
    numbers_.resize(place);
  }

  void drop(uint32_t first, uint32_t n) {
    if (!cache_.can_drop(first, n)) {
      EXPECT_EQ(cache_.drop(first, n).error().code, ErrorCode::invalid_argument);
      return;
    }
    ASSERT_TRUE(cache_.drop(first, n).ok());
    const auto from = numbers_.begin() + static_cast<ptrdiff_t>(first);
    numbers_.erase(from, from + static_cast<ptrdiff_t>(n));
  }

  // Checks all rows that the next token sees, and all that the cache claims to hold.
  void check() const {
    ASSERT_EQ(cache_.size(), numbers_.size());
    ASSERT_LE(cache_.first_position(), first_seen(cache_.window(), size()));
    for (uint32_t i = cache_.first_position(); i < size(); ++i) {
      ASSERT_EQ(key_at(cache_, 0, i, 0)[0], static_cast<float>(numbers_[i])) << i;
    }
    const auto n_held = std::count_if(cache_.pages().begin(), cache_.pages().end(),
                                      [](uint32_t page) { return page != UINT32_MAX; });
    ASSERT_EQ(cache_.store().n_used(), static_cast<uint32_t>(n_held));
  }

 private:
  static std::shared_ptr<KvStore> make_store(uint32_t window) {
    const std::vector<RowShape> large = {{0, 1u << 20, 256, window}};
    const KvPlan plan = plan_windows(large, KvKind::f32, KvKind::f32, 1u << 30, kBatch);
    auto store = KvStore::create(
        {.rows = {{0, 1, 2, window}}, .page_positions = kWindowPage, .n_pages = n_pages(plan, 1)});
    EXPECT_TRUE(store.ok());
    return store.value();
  }

  KvCache cache_;
  std::vector<uint32_t> numbers_;
  uint32_t last_ = 0;
};

TEST(KvWindow, GivesBackWhatNoTokenSees) {
  TrackedCache tracked(100);
  for (int i = 0; i < 200; ++i) {
    tracked.append(kBatch);
    ASSERT_LE(tracked.cache().store().n_used(), (100 + kWindowSpare) / kWindowPage + 2);
    tracked.check();
  }
}

TEST(KvWindow, TakesBackTheLastFewPositionsAnyNumberOfTimes) {
  TrackedCache tracked(100);
  tracked.append(kBatch);
  for (int i = 0; i < 500; ++i) {  // one token is certain, the others are guesses
    tracked.append(33);
    const uint32_t n = tracked.size() - 32;
    tracked.truncate(n);
    ASSERT_EQ(tracked.size(), n);
    tracked.check();
  }
}

TEST(KvWindow, GoesBackToCheckpointsAndToWhatIsHeld) {
  TrackedCache tracked(100);
  for (int i = 0; i < 10; ++i) tracked.append(kBatch);
  tracked.cache().pin();
  for (int i = 0; i < 15; ++i) tracked.append(kBatch);
  tracked.cache().add_checkpoint();
  for (int i = 0; i < 30; ++i) tracked.append(kBatch);
  EXPECT_EQ(tracked.cache().reachable(tracked.size() - 700), 1000u + 24)
      << "to the end of the checkpoint's last page";
  EXPECT_EQ(tracked.cache().reachable(1000), 1000u);
  EXPECT_EQ(tracked.cache().reachable(800), 448u);
  EXPECT_EQ(tracked.cache().reachable(280), 0u);
  auto fork = tracked.cache().fork();
  ASSERT_TRUE(fork.ok());
  EXPECT_EQ(fork.value().reachable(1000), 1000u);
  tracked.truncate(1000);
  tracked.check();
  tracked.truncate(800);
  EXPECT_EQ(tracked.size(), 448u);
  tracked.check();
}

TEST(KvWindow, IsRightAfterAnyOperations) {
  for (const uint32_t window : {1u, 2u, 64u, 65u, 100u, 300u}) {
    TrackedCache tracked(window);
    std::mt19937 random(window);
    bool holds = false;
    for (int i = 0; i < 4000; ++i) {
      const auto up_to = [&](uint32_t n) { return static_cast<uint32_t>(random() % (n + 1)); };
      switch (random() % 12) {
        case 0:
          tracked.truncate(tracked.size() - std::min(tracked.size(), up_to(100)));
          break;
        case 1:
          if (random() % 8 == 0) tracked.truncate(up_to(tracked.size()));
          break;
        case 2:
          tracked.cache().add_checkpoint();
          break;
        case 3:
          holds ? tracked.cache().unpin() : tracked.cache().pin();
          holds = !holds;
          break;
        case 4: {
          if (holds) break;  // nothing is dropped while a place is held
          const uint32_t first = up_to(tracked.size());
          tracked.drop(first, up_to(tracked.size() - first));
          break;
        }
        default:
          if (tracked.size() < kMostPositions - kBatch) tracked.append(1 + up_to(kBatch - 1));
      }
      tracked.check();
      if (HasFatalFailure()) FAIL() << "window " << window << ", operation " << i;
    }
  }
}

}  // namespace
}  // namespace kinglet
