// Calls of a paged KV store in any order, compared with their meaning: lists of rows.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "fuzz/input.h"
#include "kv/rows.h"

namespace kinglet::fuzz {
namespace {

constexpr size_t kMaxCaches = 5;
constexpr size_t kMaxCalls = 200;
constexpr uint32_t kMaxLayers = 3;
constexpr uint32_t kMaxHeads = 3;
constexpr uint32_t kMaxHeadDim = 40;

// A position is represented by the number that its rows were made from. Rows that moved may have
// been rounded before.
struct Sequence {
  std::unique_ptr<KvCache> cache;
  std::vector<float> positions;
  bool has_moved = false;
};

// Makes the key or value of a position and layer. stored() returns a row as a kind stores it at a
// position.
std::vector<float> make_row(float number, const RowShape& shape, bool is_key) {
  std::vector<float> row(size_t{shape.n_kv_heads} * shape.head_dim);
  for (size_t i = 0; i < row.size(); ++i) {
    row[i] = number * (is_key ? 1.0f : -2.0f) + static_cast<float>(i + shape.layer);
  }
  return row;
}

std::vector<float> stored(KvKind name, uint32_t position, const float* row, uint32_t head_dim) {
  const bool rotates = kv_kind_info(name).rotates && position < kExactPositions;
  const KvKindInfo& kind = kind_at(kv_kind_info(name), position);
  std::vector<float> rotated(row, row + head_dim);
  if (rotates) rotate_blocks(rotated.data(), head_dim);
  std::vector<std::byte> codes(static_cast<size_t>(kind.code_bytes(head_dim)));
  std::vector<float> scales(static_cast<size_t>(kind.n_scales(head_dim)));
  std::vector<float> out(head_dim);
  kind.write_row(rotated.data(), head_dim, codes.data(), scales.data());
  kind.read_row(codes.data(), scales.data(), 0, head_dim, out.data());
  if (rotates) rotate_blocks(out.data(), head_dim);
  return out;
}

class Calls {
 public:
  explicit Calls(Input& input) : input_(input) {
    config_.k_kind = static_cast<KvKind>(input.up_to(kNKvKinds - 1));
    config_.v_kind = static_cast<KvKind>(input.up_to(kNKvKinds - 1));
    config_.page_positions = 1 + input.up_to(6);
    config_.n_pages = 1 + input.up_to(15);
    config_.rows.resize(1 + input.up_to(kMaxLayers - 1));
    for (RowShape& shape : config_.rows) {
      shape = {static_cast<uint32_t>(&shape - config_.rows.data()), 1 + input.up_to(kMaxHeads - 1),
               1 + input.up_to(kMaxHeadDim - 1)};
    }
    auto store = KvStore::create(config_);
    check(store.ok(), "a small store is refused");
    store_ = store.value();
  }

  void run() {
    for (size_t i = 0; i < kMaxCalls && !input_.empty(); ++i) {
      call();
      check_pages();
    }
    for (const Sequence& sequence : sequences_) check_rows(sequence);
    sequences_.clear();
    check(store_->n_used() == 0, "pages are still used when all caches are gone");
  }

 private:
  void call() {
    const uint32_t function = input_.up_to(7);
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
        return check_rows(sequence);
      default:
        sequences_.erase(sequences_.begin() + (&sequence - sequences_.data()));
    }
  }

  void add() {
    if (sequences_.size() == kMaxCaches) return;
    sequences_.push_back({std::make_unique<KvCache>(store_, input_.up_to(80)), {}});
  }

  void push(Sequence& sequence, bool commits) {
    const uint32_t n = input_.up_to(9);
    if (!sequence.cache->reserve(n).ok()) return;
    std::vector<float> added;
    for (uint32_t i = 0; i < n; ++i) {
      added.push_back(input_.weight());
      for (const RowShape& shape : config_.rows) {
        const auto key = make_row(added.back(), shape, true);
        const auto value = make_row(added.back(), shape, false);
        check(sequence.cache->write(shape.layer, i, key, value).ok(),
              "what was reserved is refused");
      }
    }
    if (!commits) return sequence.cache->rollback();
    check(sequence.cache->commit(n).ok(), "whole positions are refused");
    sequence.positions.insert(sequence.positions.end(), added.begin(), added.end());
  }

  void truncate(Sequence& sequence) {
    const uint32_t n = input_.up_to(100);
    const bool fits = n <= sequence.positions.size();
    check(sequence.cache->truncate(n).ok() == fits, "truncation past the end");
    if (fits) sequence.positions.resize(n);
  }

  void fork(Sequence& sequence) {
    if (sequences_.size() == kMaxCaches) return;
    auto cache = sequence.cache->fork();
    check(cache.ok(), "a fork is refused");
    auto forked = std::make_unique<KvCache>(std::move(cache.value()));
    sequences_.push_back(
        {std::move(forked), std::vector<float>(sequence.positions), sequence.has_moved});
  }

  void drop(Sequence& sequence) {
    const uint32_t first = input_.up_to(60);
    const uint32_t n = input_.up_to(60);
    const bool fits = first + n <= sequence.positions.size();
    const Status status = sequence.cache->drop(first, n);
    check(fits || !status.ok(), "positions are dropped that are not there");
    if (!status.ok()) return;
    sequence.has_moved = true;
    const auto begin = sequence.positions.begin() + static_cast<ptrdiff_t>(first);
    sequence.positions.erase(begin, begin + static_cast<ptrdiff_t>(n));
  }

  void check_rows(const Sequence& sequence) {
    check(sequence.cache->size() == sequence.positions.size(), "a number of positions is wrong");
    for (uint32_t p = 0; p < sequence.positions.size(); ++p) {
      for (const RowShape& shape : config_.rows) {
        const auto key = make_row(sequence.positions[p], shape, true);
        const auto value = make_row(sequence.positions[p], shape, false);
        for (uint32_t head = 0; head < shape.n_kv_heads; ++head) {
          const size_t from = size_t{head} * shape.head_dim;
          check_row(sequence, p, config_.k_kind, key_at(*sequence.cache, shape.layer, p, head),
                    &key[from]);
          check_row(sequence, p, config_.v_kind, value_at(*sequence.cache, shape.layer, p, head),
                    &value[from]);
        }
      }
    }
  }

  // How kinds with integer codes store later rows depends on the centre, which is checked
  // elsewhere.
  void check_row(const Sequence& sequence, uint32_t position, KvKind kind,
                 const std::vector<float>& found, const float* row) const {
    const bool is_known = !kv_kind_info(kind).has_integer_codes ||
                          (position < kExactPositions && !sequence.has_moved);
    const auto head_dim = static_cast<uint32_t>(found.size());
    check(is_known
              ? found == stored(kind, position, row, head_dim)
              : std::all_of(found.begin(), found.end(), [](float x) { return std::isfinite(x); }),
          "a row is another one");
  }

  // Expects every page to have as many users as there are sequences that contain it. A sequence in
  // one piece may have a store of its own.
  void check_pages() {
    std::vector<uint32_t> n_users(config_.n_pages);
    for (const Sequence& sequence : sequences_) {
      if (&sequence.cache->store() != store_.get()) continue;
      for (const uint32_t page : sequence.cache->pages()) ++n_users[page];
    }
    for (uint32_t page = 0; page < config_.n_pages; ++page) {
      check(store_->n_users(page) == n_users[page], "a page is lost");
    }
    const auto n_free = std::count(n_users.begin(), n_users.end(), 0u);
    check(store_->n_free() == static_cast<uint32_t>(n_free), "pages are not counted");
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
