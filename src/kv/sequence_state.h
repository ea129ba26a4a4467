// All that a session keeps of the tokens it has seen: the keys and values of its attention layers,
// and the states of its recurrent ones. What lets a step compute only its own tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kv/kv_cache.h"
#include "kv/kv_plan.h"
#include "kv/recurrent_state.h"

namespace kinglet {

// A step reserves room, writes to every layer and commits; a step that fails calls rollback(), and
// everything is as it was. Steps allocate nothing.
//
// Layers keep their rows in groups (see kv_plan.h). `rows` is an index into the model's
// StateShape::rows.
class SequenceState {
 public:
  // An empty sequence of up to `capacity` positions, with its keys and values in `store`, which
  // others may use too, and n_recurrent floats of recurrent layers. ErrorCode::out_of_memory.
  static Result<SequenceState> create(std::shared_ptr<KvStore> store, uint64_t n_recurrent,
                                      uint32_t capacity);

  // The same with stores of its own. ErrorCode::out_of_memory; invalid_argument (a size of 0).
  static Result<SequenceState> create(const KvPlan& plan, uint64_t n_recurrent, uint32_t capacity);

  // Another one that begins with the same positions; see KvCache::fork. ErrorCode::out_of_memory.
  Result<SequenceState> fork() const;

  uint32_t capacity() const { return rows().capacity(); }
  uint32_t size() const { return rows().size(); }  // committed positions

  // The group that holds all positions.
  KvCache& rows() { return groups_.front(); }
  const KvCache& rows() const { return groups_.front(); }

  const std::vector<KvCache>& groups() const { return groups_; }
  uint64_t kv_bytes() const;

  RecurrentState& recurrent() { return recurrent_; }
  const RecurrentState& recurrent() const { return recurrent_; }

  // --- Steps ------------------------------------------------------------------------------------

  // Takes the room for a step. ErrorCode::context_full, out_of_memory; nothing has changed then.
  Status reserve(uint32_t n_positions);

  // See KvCache.
  Status push(uint32_t rows, std::span<const float> k, std::span<const float> v) {
    return groups_[places_[rows].group].push(places_[rows].layer, k, v);
  }
  KvView view(uint32_t rows, uint32_t head) const {
    return groups_[places_[rows].group].view(places_[rows].layer, head);
  }

  Status commit();
  // Commits the first n positions of the step only, which a recurrent state does not allow.
  Status commit(uint32_t n);
  void rollback();

  // --- Going back -------------------------------------------------------------------------------

  // Keeps this place as a checkpoint for truncate(): the recurrent state, and what windows see.
  void keep();

  // Keeps this place reachable, beside the checkpoints, until release() or the next hold().
  void hold();
  void release();

  // The last place at or before n_positions where a recurrent state and all that windows see are
  // there.
  uint32_t reachable(uint32_t n_positions) const;

  // Forgets positions from reachable(n_positions) on: what is left is size().
  // ErrorCode::invalid_argument past the end.
  Status truncate(uint32_t n_positions);

  // Makes everything writable that truncate(n_positions) leaves to be computed again.
  // ErrorCode::out_of_memory; nothing has changed then.
  Status unshare(uint32_t n_positions) { return rows().unshare(reachable(n_positions)); }

  // --- Rows -------------------------------------------------------------------------------------

  // Drops the positions [first, first + n) and moves the rows of later ones down. Where windows do
  // not hold what a token would see then, all of them from `first` on, or more, are forgotten.
  // Without recurrent layers only. ErrorCode::invalid_argument past the end; out_of_memory where
  // shared pages cannot be copied; nothing has changed then.
  Status drop(uint32_t first, uint32_t n);

  // See KvCache.
  template <class F>
  void rewrite_keys(uint32_t rows, uint32_t first, const F& f) {
    groups_[places_[rows].group].rewrite_keys(places_[rows].layer, first, f);
  }

  // The most positions, up to kWindowSpare, that every window has kept before those that the next
  // token sees; kAllRows where all positions of all layers are kept.
  static constexpr uint32_t kAllRows = UINT32_MAX;
  uint32_t n_spare() const;

  // The first position of which overwrite(n_positions, n_spare, …) keeps the layer's rows.
  uint32_t first_row(uint32_t rows, uint32_t n_positions, uint32_t n_spare) const;

  // Makes this a sequence of n_positions whose rows the caller is to write, with the bytes of the
  // recurrent floats after them. Windows keep n_spare positions, or kWindowSpare, more than the
  // next token sees. ErrorCode::context_full, out_of_memory; nothing has changed then.
  Status overwrite(uint32_t n_positions, uint32_t n_spare, std::span<const std::byte> recurrent);

  // Calls f(codes, scales) with the rows of a layer at a position, if they are kept; see KvCache.
  template <class F>
  void for_each_row_at(uint32_t rows, uint32_t position, const F& f) const {
    const KvCache& group = groups_[places_[rows].group];
    if (position >= group.first_position()) group.for_each_row_at(places_[rows].layer, position, f);
  }

 private:
  SequenceState(std::vector<KvCache> groups, std::vector<RowPlace> places, RecurrentState recurrent)
      : groups_(std::move(groups)), places_(std::move(places)), recurrent_(std::move(recurrent)) {}

  std::vector<KvCache> groups_;   // those of a KvPlan
  std::vector<RowPlace> places_;  // the same
  RecurrentState recurrent_;
};

}  // namespace kinglet
