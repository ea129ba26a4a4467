// The keys and values of every position that a sequence has seen. With them, a step computes only
// its own tokens.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kernels/attention.h"
#include "kv/kv_plan.h"
#include "kv/kv_store.h"
#include "kv/page_table.h"
#include "kv/window_places.h"

namespace kinglet {

// A sequence in a store.
//
// A step reserves positions, writes the keys and values of each onto every layer, and commits them.
// A step that fails calls rollback(), which restores the cache. Steps allocate no memory.
//
// A cache with a window gives back the pages that no later token sees and no place needs (see
// WindowPlaces), except for kWindowSpare positions before those that are seen. reachable() returns
// where the cache can be cut.
//
// `layer` is an index of the store's layers, `head` an index of the layer's heads.
class KvCache {
 public:
  // Makes an empty sequence of at most `capacity` positions in a store that others may use too. A
  // sequence with a window (see RowShape) needs its own store, sized by plan_windows().
  KvCache(std::shared_ptr<KvStore> store, uint32_t capacity, uint32_t window = 0);

  // Allocates what the first step would allocate. ErrorCode::out_of_memory.
  Status prepare() { return own_beginning(0); }

  // Returns another cache with the same positions and checkpoints. In a store of several pages,
  // both caches share the pages. A cache in one piece or with a window is copied.
  // Fails with ErrorCode::out_of_memory.
  Result<KvCache> fork() const;

  const KvStore& store() const { return table_.store(); }
  uint32_t capacity() const { return capacity_; }
  uint32_t window() const { return places_.window(); }  // 0: none
  uint32_t size() const { return size_; }               // committed positions
  std::span<const uint32_t> pages() const { return table_.pages(); }

  // --- Steps ------------------------------------------------------------------------------------

  // Begins a step of n_positions after size(), and takes the pages for them. Errors: context_full;
  // out_of_memory if other sequences use up the store (the message gives the number of pages needed
  // and available). An error changes nothing.
  Status reserve(uint32_t n_positions);

  // Writes position size() + i of the step onto a layer: k and v are [n_kv_heads * head_dim].
  // ErrorCode::invalid_argument names what does not exist or has another length; not_finite (NaN or
  // infinity: the weights are damaged, and must not produce text that looks right).
  Status write(uint32_t layer, uint32_t i, std::span<const float> k, std::span<const float> v);

  // Commits the first n positions of the step. The others can be committed or rolled back later.
  // Fails with ErrorCode::invalid_argument if fewer are reserved.
  Status commit(uint32_t n);

  // Forgets what was reserved and not committed.
  void rollback() { set_size(size_); }

  // The memory where attention reads a head, the step's positions included. Valid until the cache
  // changes.
  KvView view(uint32_t layer, uint32_t head) const {
    return table_.view(store().layers()[layer], head);
  }

  // --- Committed positions ----------------------------------------------------------------------

  // The last place at or before n_positions where a token finds all the positions that it sees.
  // 0 is always reachable; without a window, so is every place up to the end.
  uint32_t reachable(uint32_t n_positions) const;

  // Forgets the positions from n_positions on. n_positions must be reachable. Fails with
  // ErrorCode::invalid_argument if n_positions is past the end.
  Status truncate(uint32_t n_positions);

  // Makes the end a checkpoint: a place that stays reachable until its room is needed. Without a
  // window, add_checkpoint(), pin() and unpin() do nothing.
  void add_checkpoint();

  // Keeps the end reachable until unpin() or the next pin(), even if checkpoints are given up.
  void pin();
  void unpin();

  // The first position from which all positions up to the end are stored.
  uint32_t first_position() const;

  // How many positions, at most kWindowSpare, are stored before those that the next token sees.
  // kWindowSpare if all positions are stored.
  uint32_t n_spare() const;

  // Makes the positions from `first` on writable. Fails with ErrorCode::out_of_memory if shared
  // pages cannot be copied, and changes nothing then.
  Status unshare(uint32_t first);

  // Whether the next token would still find all the positions that it sees after drop(first, n).
  bool can_drop(uint32_t first, uint32_t n) const;

  // Drops the positions [first, first + n) and moves the stored rows of later ones down. Removes
  // all checkpoints of a window. Errors: invalid_argument (past the end, or can_drop() is false);
  // out_of_memory (shared pages cannot be copied). An error changes nothing.
  Status drop(uint32_t first, uint32_t n);

  // Calls f(key) for each stored key of a layer from position `first` on, as floats [head_dim].
  // f changes them, and they are stored again. The positions must be writable.
  template <class F>
  void rewrite_keys(uint32_t layer, uint32_t first, const F& f) {
    const KvLayer& of = store().layers()[layer];
    std::vector<float> key(of.head_dim);
    for (uint32_t head = 0; head < of.n_kv_heads; ++head) {
      for (uint32_t position = std::max(first, first_position()); position < size_; ++position) {
        table_.read(of, of.keys, position, head, key);
        f(key.data());
        table_.write(of, of.keys, position, head, key);
      }
    }
  }

  // Makes the cache n_positions long. Its pages are its own, to be written through for_each_row_at.
  // With a window, it keeps only what the next token sees and n_spare positions before that.
  // Errors: context_full, out_of_memory. An error changes nothing.
  Status overwrite(uint32_t n_positions, uint32_t n_spare = kWindowSpare);

  // Calls f(codes, scales) with the rows of a layer at a stored position, in their stored form (see
  // kv_kind.h): for each head the key, then the value. f may write to rows that are writable.
  template <class F>
  void for_each_row_at(uint32_t layer, uint32_t position, const F& f) const {
    const KvLayer& of = store().layers()[layer];
    for (uint32_t head = 0; head < of.n_kv_heads; ++head) {
      for (const KvSide* side : {&of.keys, &of.values}) {
        const PageTable::Row found = table_.row(*side, position, head);
        f(std::span(found.codes, side->code_bytes_at(position)),
          std::span(found.scales, side->n_scales_at(position)));
      }
    }
  }

  // Calls f(centre) for the centre of each head's keys, [head_dim]. f may write to it after
  // overwrite().
  template <class F>
  void for_each_centre(uint32_t layer, const F& f) const {
    const KvLayer& of = store().layers()[layer];
    for (uint32_t head = 0; head < of.n_kv_heads; ++head) f(table_.centre(of, head));
  }

 private:
  Status check_room(uint64_t n_positions) const;
  Status own_pages(uint32_t first, uint32_t end);
  Status own_beginning(uint32_t first);
  void set_size(uint32_t n_positions);
  Status write_side(const KvSide& side, uint32_t layer, uint32_t position,
                    std::span<const float> rows);
  void give_back();
  void give_back_before(uint32_t page);
  uint32_t first_position_after_drop(uint32_t first, uint32_t n) const;
  Status take_pages_for_drop(uint32_t begin, uint32_t n);

  PageTable table_;  // of the reserved positions
  WindowPlaces places_;
  uint32_t capacity_;
  uint32_t size_ = 0;
  uint32_t n_reserved_ = 0;  // positions that may be written: those from size_ on are not shared
};

}  // namespace kinglet
