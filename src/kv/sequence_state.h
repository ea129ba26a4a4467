// All that a session keeps of the tokens it has seen: the keys and values of its attention layers,
// and the states of its recurrent layers. With them, a step computes only its own tokens.
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

// A step reserves room, writes to every layer and commits. A step that fails calls rollback(),
// which restores everything. Steps allocate no memory.
//
// The rows of the layers are in groups (see kv_plan.h). `rows` is an index into the model's
// StateShape::rows.
class SequenceState {
 public:
  // Makes an empty sequence of up to `capacity` positions. Its keys and values are in `store`,
  // which others may use too; its recurrent layers have n_recurrent floats. Fails with
  // ErrorCode::out_of_memory.
  static Result<SequenceState> create(std::shared_ptr<KvStore> store, uint64_t n_recurrent,
                                      uint32_t capacity);

  // Makes an empty sequence with its own stores. Errors: out_of_memory; invalid_argument (a size of
  // 0).
  static Result<SequenceState> create(const KvPlan& plan, uint64_t n_recurrent, uint32_t capacity);

  // Returns another sequence with the same positions; see KvCache::fork. Fails with
  // ErrorCode::out_of_memory.
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

  // Takes the room for a step. Errors: context_full, out_of_memory. An error changes nothing.
  Status reserve(uint32_t n_positions);

  // See KvCache.
  Status push(uint32_t rows, std::span<const float> k, std::span<const float> v) {
    return groups_[places_[rows].group].push(places_[rows].layer, k, v);
  }
  KvView view(uint32_t rows, uint32_t head) const {
    return groups_[places_[rows].group].view(places_[rows].layer, head);
  }

  Status commit();
  // Commits only the first n positions of the step. Not possible with a recurrent state.
  Status commit(uint32_t n);
  void rollback();

  // --- Going back -------------------------------------------------------------------------------

  // Keeps this place as a checkpoint for truncate(): the recurrent state, and the positions that
  // windows see.
  void add_checkpoint();

  // Keeps this place reachable, in addition to the checkpoints, until unpin() or the next pin().
  void pin();
  void unpin();

  // The last place at or before n_positions where the recurrent state and all positions that
  // windows see are available.
  uint32_t reachable(uint32_t n_positions) const;

  // Forgets the positions from reachable(n_positions) on; size() is then what is left. Fails with
  // ErrorCode::invalid_argument if n_positions is past the end.
  Status truncate(uint32_t n_positions);

  // Makes all positions writable that must be computed again after truncate(n_positions). Fails
  // with ErrorCode::out_of_memory, and changes nothing then.
  Status unshare(uint32_t n_positions) { return rows().unshare(reachable(n_positions)); }

  // --- Rows -------------------------------------------------------------------------------------

  // Drops the positions [first, first + n) and moves the rows of later ones down. If windows do not
  // hold all that a token would see after that, forgets all positions from `first` on, or more.
  // Only without recurrent layers. Errors: invalid_argument (past the end); out_of_memory (shared
  // pages cannot be copied). An error changes nothing.
  Status drop(uint32_t first, uint32_t n);

  // See KvCache.
  template <class F>
  void rewrite_keys(uint32_t rows, uint32_t first, const F& f) {
    groups_[places_[rows].group].rewrite_keys(places_[rows].layer, first, f);
  }

  // How many positions, at most kWindowSpare, every window has kept before those that the next
  // token sees; kAllRows if no group has a window, so that all positions are kept.
  static constexpr uint32_t kAllRows = UINT32_MAX;
  uint32_t n_spare() const;

  // The first position whose rows of the layer overwrite(n_positions, n_spare, …) keeps.
  uint32_t first_row(uint32_t rows, uint32_t n_positions, uint32_t n_spare) const;

  // Makes this a sequence of n_positions, whose rows the caller must write. `recurrent` holds the
  // bytes of the recurrent floats after these positions. Windows keep n_spare positions (at most
  // kWindowSpare) more than the next token sees. Errors: context_full, out_of_memory. An error
  // changes nothing.
  Status overwrite(uint32_t n_positions, uint32_t n_spare, std::span<const std::byte> recurrent);

  // Calls f(codes, scales) with the rows of a layer at a position if they are stored; see KvCache.
  template <class F>
  void for_each_row_at(uint32_t rows, uint32_t position, const F& f) const {
    const KvCache& group = groups_[places_[rows].group];
    if (position >= group.first_position()) group.for_each_row_at(places_[rows].layer, position, f);
  }

 private:
  SequenceState(std::vector<KvCache> groups, std::vector<RowPlace> places, RecurrentState recurrent)
      : groups_(std::move(groups)), places_(std::move(places)), recurrent_(std::move(recurrent)) {}

  std::vector<KvCache> groups_;   // as KvPlan::groups
  std::vector<RowPlace> places_;  // as KvPlan::places
  RecurrentState recurrent_;
};

}  // namespace kinglet
