// Calls of a paged KV store, in any order, against what they mean: lists of rows.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "fuzz/input.h"
#include "kv/kv_cache.h"

namespace kinglet::fuzz {
namespace {

constexpr size_t kMaxCaches = 5;
constexpr size_t kMaxCalls = 200;
constexpr uint32_t kLayers = 2;
constexpr uint32_t kHeads = 2;
constexpr uint32_t kHeadDim = 5;
constexpr size_t kWidth = kHeads * kHeadDim;

// A position is the number that its rows were made from.
struct Sequence {
  KvCache cache;
  std::vector<float> positions;
};

// The key or value of a position and layer, and how a kind stores it.
std::vector<float> make_row(float number, uint32_t layer, bool is_key) {
  std::vector<float> row(kWidth);
  for (size_t i = 0; i < kWidth; ++i) {
    row[i] = number * (is_key ? 1.0f : -2.0f) + static_cast<float>(i + layer);
  }
  return row;
}

std::vector<float> stored(const KvKindInfo& kind, const float* row) {
  std::vector<std::byte> codes(static_cast<size_t>(kind.code_bytes(kHeadDim)));
  std::vector<float> scales(static_cast<size_t>(kind.n_scales(kHeadDim)));
  std::vector<float> out(kHeadDim);
  kind.write_row(row, kHeadDim, codes.data(), scales.data());
  kind.read_row(codes.data(), scales.data(), 0, kHeadDim, out.data());
  return out;
}

class Calls {
 public:
  explicit Calls(Input& input) : input_(input) {
    config_ = {.n_layers = kLayers,
               .n_kv_heads = kHeads,
               .head_dim = kHeadDim,
               .k_kind = static_cast<KvKind>(input.up_to(kNKvKinds - 1)),
               .v_kind = static_cast<KvKind>(input.up_to(kNKvKinds - 1)),
               .page_positions = 1 + input.up_to(6),
               .n_pages = 1 + input.up_to(15)};
    auto store = KvStore::create(config_);
    check(store.ok(), "a small store is refused");
    store_ = store.value();
  }

  void run() {
    for (size_t i = 0; i < kMaxCalls && !input_.empty(); ++i) {
      call();
      check_stats();
    }
    for (const Sequence& sequence : sequences_) check_rows(sequence);
    sequences_.clear();
    check(store_->stats().n_used == 0, "pages are still used when all caches are gone");
  }

 private:
  void call() {
    const uint32_t function = input_.up_to(8);
    if (function == 0 || sequences_.empty()) return add();
    Sequence& sequence = sequences_[input_.up_to(static_cast<uint32_t>(sequences_.size() - 1))];
    switch (function) {
      case 1:
        return push(sequence, true);
      case 2:
        return push(sequence, false);
      case 3:
        return truncate(sequence);
      case 4:
        return fork(sequence);
      case 5:
        return drop(sequence);
      case 6:
        store_->defragment();
        return;
      case 7:
        return check_rows(sequence);
      default:
        sequences_.erase(sequences_.begin() + (&sequence - sequences_.data()));
    }
  }

  void add() {
    if (sequences_.size() == kMaxCaches) return;
    auto cache = KvCache::create_in(store_, input_.up_to(80));
    check(cache.ok(), "an empty sequence is refused");
    sequences_.push_back({std::move(cache.value()), {}});
  }

  void push(Sequence& sequence, bool commits) {
    const uint32_t n = input_.up_to(9);
    if (!sequence.cache.reserve(n).ok()) return;
    std::vector<float> added;
    for (uint32_t i = 0; i < n; ++i) {
      added.push_back(input_.weight());
      for (uint32_t layer = 0; layer < kLayers; ++layer) {
        check(sequence.cache
                  .push(layer, make_row(added.back(), layer, true),
                        make_row(added.back(), layer, false))
                  .ok(),
              "what was reserved is refused");
      }
    }
    if (!commits) return sequence.cache.rollback();
    check(sequence.cache.commit().ok(), "whole positions are refused");
    sequence.positions.insert(sequence.positions.end(), added.begin(), added.end());
  }

  void truncate(Sequence& sequence) {
    const uint32_t n = input_.up_to(100);
    const bool fits = n <= sequence.positions.size();
    check(sequence.cache.truncate(n).ok() == fits, "truncation past the end");
    if (fits) sequence.positions.resize(n);
  }

  void fork(Sequence& sequence) {
    if (sequences_.size() == kMaxCaches) return;
    auto cache = sequence.cache.fork();
    check(cache.ok(), "a fork is refused");
    Sequence forked{std::move(cache.value()), sequence.positions};
    sequences_.push_back(std::move(forked));
  }

  void drop(Sequence& sequence) {
    const uint32_t first = input_.up_to(60);
    const uint32_t n = input_.up_to(60);
    const bool fits = first + n <= sequence.positions.size();
    const Status status =
        sequence.cache.drop(first, n, [](uint32_t, std::span<float>) { return false; });
    check(fits || !status.ok(), "positions are dropped that are not there");
    if (!status.ok()) return;
    const auto begin = sequence.positions.begin() + static_cast<ptrdiff_t>(first);
    sequence.positions.erase(begin, begin + static_cast<ptrdiff_t>(n));
  }

  void check_rows(const Sequence& sequence) {
    check(sequence.cache.size() == sequence.positions.size(), "a number of positions is wrong");
    std::vector<float> found(kHeadDim);
    for (uint32_t p = 0; p < sequence.positions.size(); ++p) {
      for (uint32_t layer = 0; layer < kLayers; ++layer) {
        for (const bool is_key : {true, false}) {
          const auto row = make_row(sequence.positions[p], layer, is_key);
          for (uint32_t head = 0; head < kHeads; ++head) {
            const Status status = is_key ? sequence.cache.read_key(layer, p, head, found)
                                         : sequence.cache.read_value(layer, p, head, found);
            const KvKind kind = is_key ? config_.k_kind : config_.v_kind;
            check(status.ok() && found == stored(kv_kind_info(kind), row.data() + head * kHeadDim),
                  "a row is another one");
          }
        }
      }
    }
  }

  void check_stats() {
    const KvStoreStats stats = store_->stats();
    check(stats.n_used + stats.n_free == stats.n_pages, "pages are lost");
    check(stats.n_positions <= uint64_t{stats.n_used} * config_.page_positions,
          "more positions than pages hold");
  }

  Input& input_;
  KvStoreConfig config_;
  std::shared_ptr<KvStore> store_;
  std::vector<Sequence> sequences_;
};

}  // namespace

void kv(Bytes bytes) {
  Input input(bytes);
  Calls(input).run();
}

}  // namespace kinglet::fuzz
