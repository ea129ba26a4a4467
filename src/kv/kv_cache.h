// The keys and values of every position that a sequence has seen: what lets a step compute only its
// own tokens.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernels/attention.h"
#include "kv/kv_plan.h"
#include "kv/kv_store.h"

namespace kinglet {

// A sequence in a store: the pages that hold its positions, in their order. A page belongs to one
// sequence or to several that share a beginning; it is copied when one of them writes into it.
//
// A step pushes the keys and values of its positions onto every layer and then commits them all; a
// step that fails calls rollback(), and the cache is as it was. Nothing is allocated by steps.
//
// A cache with a window gives back the pages that no token will see any more. It keeps those of its
// end, kWindowSpare positions more than the window, and of other places that it is told to keep: a
// list of places is all there is to remember, as rows are never changed while one after them is
// kept. Other positions are not there: reachable() tells where the cache can be cut.
//
// `layer` is one of the store's layers, `head` one of its heads.
class KvCache {
 public:
  // An empty sequence in a store that others may use too, for at most `capacity` positions. One
  // with a window (see RowShape) has a store of its own, as plan_windows() lays it out.
  KvCache(std::shared_ptr<KvStore> store, uint32_t capacity, uint32_t window = 0);
  ~KvCache();

  KvCache(KvCache&&) noexcept = default;
  KvCache& operator=(KvCache&&) = delete;

  // Another cache that begins with the same positions, and can go back to the same. In a store of
  // several pages both share them; one in one piece, or with a window, is copied.
  // ErrorCode::out_of_memory.
  Result<KvCache> fork() const;

  const KvStore& store() const { return *store_; }
  uint32_t capacity() const { return capacity_; }
  uint32_t window() const { return window_; }  // 0: none
  uint32_t size() const { return size_; }      // committed positions
  std::span<const uint32_t> pages() const { return pages_; }

  // --- Steps ------------------------------------------------------------------------------------

  // Takes the pages for n positions more, so that pushing them cannot fail for want of room.
  // ErrorCode::context_full, or out_of_memory where other sequences use up the store, which tells
  // the pages that are needed and available; nothing has changed then.
  Status reserve(uint32_t n_positions);

  // Appends one position to a layer: k and v are [n_kv_heads * head_dim]. Checks k's length, v's
  // length, then room, and says which one failed. ErrorCode::not_finite for NaN and infinity: the
  // weights are damaged, and no text should look right.
  Status push(uint32_t layer, std::span<const float> k, std::span<const float> v);

  // The positions that every layer has been given since the last commit; without layers, those that
  // were reserved. ErrorCode::invalid_argument where layers were given different numbers of them.
  Result<uint32_t> n_pushed() const;

  // Makes them part of the cache. An error is that of n_pushed(), and nothing is committed then.
  Status commit();

  // The same for the first n positions only; the others can be committed or rolled back later.
  // ErrorCode::invalid_argument where a layer was given fewer.
  Status commit(uint32_t n);

  // Forgets what was pushed since the last commit.
  void rollback() { set_size(size_); }

  // Where attention finds a head, pushed positions included; until the next change of the cache.
  KvView view(uint32_t layer, uint32_t head) const;

  // --- Committed positions ----------------------------------------------------------------------

  // The last place at or before n_positions where a token finds all that it sees; 0 is always one.
  // Without a window, every place up to the end is.
  uint32_t reachable(uint32_t n_positions) const;

  // Forgets positions from n_positions on, which must be reachable. ErrorCode::invalid_argument
  // past the end.
  Status truncate(uint32_t n_positions);

  // Keeps the end as a checkpoint, until there is no room: a place that stays reachable. Nothing
  // without a window, like the next two.
  void keep();

  // Keeps the end reachable, whatever comes, until release() or the next hold().
  void hold();
  void release();

  // The first of the positions up to the end that are all there.
  uint32_t first_position() const;

  // The most positions, up to kWindowSpare, that are there before those that the next token sees.
  uint32_t n_spare() const;

  // Makes positions from `first` on writable. ErrorCode::out_of_memory where shared pages cannot be
  // copied; nothing has changed then.
  Status unshare(uint32_t first);

  // Whether the next token would find all that it sees if drop(first, n) had been called.
  bool can_drop(uint32_t first, uint32_t n) const;

  // Drops the positions [first, first + n) and moves later ones down, codes and all. No checkpoint
  // of a window outlasts that. ErrorCode::invalid_argument past the end, or where can_drop() says
  // no; out_of_memory where shared pages cannot be copied; nothing has changed then.
  Status drop(uint32_t first, uint32_t n);

  // Calls f(key) with each key of a layer from position `first` on that is there, as floats
  // [head_dim] that it changes, and stores them again. The positions must be writable.
  template <class F>
  void rewrite_keys(uint32_t layer, uint32_t first, const F& f) {
    const KvLayer& of = store_->layers()[layer];
    std::vector<float> key(of.head_dim);
    for (uint32_t head = 0; head < of.n_kv_heads; ++head) {
      for (uint32_t position = std::max(first, first_position()); position < size_; ++position) {
        const Row to = row(of.keys, position, head);
        of.keys.kind->read_row(to.codes, to.scales, 0, key.size(), key.data());
        f(key.data());
        of.keys.kind->write_row(key.data(), key.size(), to.codes, to.scales);
      }
    }
  }

  // Makes the cache n positions long, all of them its own to write through for_each_row: with a
  // window those that are kept, n_spare of them beside what the next token sees.
  // ErrorCode::context_full, out_of_memory; nothing has changed then.
  Status overwrite(uint32_t n_positions, uint32_t n_spare = kWindowSpare);

  // Calls f(codes, scales) with the rows of a layer at a position that is there, as they are stored
  // (see kv_kind.h): for each head the key, then the value. They must be writable to be written to.
  template <class F>
  void for_each_row_at(uint32_t layer, uint32_t position, const F& f) const {
    const KvLayer& of = store_->layers()[layer];
    for (uint32_t head = 0; head < of.n_kv_heads; ++head) {
      for (const KvSide* side : {&of.keys, &of.values}) {
        const Row found = row(*side, position, head);
        f(std::span(found.codes, side->code_bytes), std::span(found.scales, side->n_scales));
      }
    }
  }

  // The same for all layers, position by position.
  template <class F>
  void for_each_row(const F& f) const {
    for (uint32_t position = first_position(); position < size_; ++position) {
      for (uint32_t layer = 0; layer < pushed_.size(); ++layer) {
        for_each_row_at(layer, position, f);
      }
    }
  }

 private:
  struct Row {
    std::byte* codes;
    float* scales;
  };

  static constexpr uint32_t kNoPage = UINT32_MAX;
  static constexpr uint32_t kNowhere = UINT32_MAX;

  uint32_t pages_for(uint64_t n_positions) const;
  Status check_room(uint64_t n_positions) const;
  Status take_pages(uint32_t first, uint32_t end);
  void set_size(uint32_t n_positions);
  Row row(const KvSide& side, uint32_t position, uint32_t head) const;
  Status write(const KvSide& side, uint32_t layer, uint32_t position, std::span<const float> rows);
  void copy_position(uint32_t from, uint32_t to);

  bool is_needed(uint32_t page) const;
  void give_back();
  void give_back_before(uint32_t page);
  void make_room(uint32_t n_pages);
  void drop_checkpoint();
  void forget_places();
  uint32_t first_position_after_drop(uint32_t first, uint32_t n) const;
  Status take_pages_for_drop(uint32_t begin, uint32_t n);

  std::shared_ptr<KvStore> store_;
  uint32_t capacity_;
  uint32_t size_ = 0;
  uint32_t n_reserved_ = 0;       // positions with pages, its own from size_ on
  std::vector<uint32_t> pages_;   // those of n_reserved_ positions; kNoPage: it was given back
  std::vector<uint32_t> pushed_;  // [layers]: positions pushed since the last commit
  uint32_t window_;
  uint32_t held_ = kNowhere;
  std::vector<uint32_t> checkpoints_;  // ascending
};

}  // namespace kinglet
