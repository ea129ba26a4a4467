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
#include "kv/saved_rows.h"

namespace kinglet {

// What a session does with the state, on whatever machine it is stored.
class StoredState {
 public:
  virtual ~StoredState() = default;

  virtual uint32_t capacity() const = 0;  // positions
  virtual uint32_t size() const = 0;      // committed positions

  // Commits the first n positions of a step, or forgets what is not committed. A recurrent state is
  // the one after all positions, so with one, n must be all of them.
  virtual Status commit(uint32_t n) = 0;
  virtual void rollback() = 0;

  // Keeps this place as a checkpoint for truncate(): the recurrent state, and the positions that
  // windows see.
  virtual void add_checkpoint() = 0;

  // Keeps this place reachable, in addition to the checkpoints, until unpin() or the next pin().
  virtual void pin() = 0;
  virtual void unpin() = 0;

  // The last place at or before n_positions where the recurrent state and all positions that
  // windows see are available.
  virtual uint32_t reachable(uint32_t n_positions) const = 0;

  // Forgets the positions from reachable(n_positions) on; size() is then what is left. Fails with
  // ErrorCode::invalid_argument if n_positions is past the end.
  virtual Status truncate(uint32_t n_positions) = 0;

  // Makes all positions writable that must be computed again after truncate(n_positions). Fails
  // with ErrorCode::out_of_memory, and changes nothing then.
  virtual Status unshare(uint32_t n_positions) = 0;

  // Makes this the sequence whose rows and recurrent floats were saved as these bytes. Only the
  // shapes and kinds must be those of this sequence. If rows are missing that this sequence would
  // have, it is empty afterwards. Errors: context_full, out_of_memory. An error changes nothing.
  virtual Status restore(const SavedRows& saved, std::span<const std::byte> rows,
                         std::span<const std::byte> recurrent) = 0;
};

// The state in this process's memory. A step reserves room, writes to every layer and commits. A
// step that fails calls rollback(), which restores everything. Steps allocate no memory.
//
// The rows of the layers are in groups (see kv_plan.h). `rows` is an index into the model's
// StateShape::rows.
class SequenceState final : public StoredState {
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

  uint32_t capacity() const override { return rows().capacity(); }
  uint32_t size() const override { return rows().size(); }

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
  Status write(uint32_t rows, uint32_t i, std::span<const float> k, std::span<const float> v) {
    return groups_[places_[rows].group].write(places_[rows].layer, i, k, v);
  }
  KvView view(uint32_t rows, uint32_t head) const {
    return groups_[places_[rows].group].view(places_[rows].layer, head);
  }

  Status commit(uint32_t n) override;
  void rollback() override;

  // --- Going back -------------------------------------------------------------------------------

  void add_checkpoint() override;
  void pin() override;
  void unpin() override;
  uint32_t reachable(uint32_t n_positions) const override;
  Status truncate(uint32_t n_positions) override;
  Status unshare(uint32_t n_positions) override { return rows().unshare(reachable(n_positions)); }

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

  // --- Saving -----------------------------------------------------------------------------------

  // How many positions, at most kWindowSpare, every window has kept before those that the next
  // token sees; kAllRows if no group has a window, so that all positions are kept.
  uint32_t n_spare() const;

  // Writes the rows in the format of `saved`, whose shapes, kinds, n_positions and n_spare are
  // those of this sequence.
  void save_rows(const SavedRows& saved, std::span<std::byte> to) const;

  Status restore(const SavedRows& saved, std::span<const std::byte> rows,
                 std::span<const std::byte> recurrent) override;

 private:
  bool has_all_rows(const SavedRows& saved) const;

  SequenceState(std::vector<KvCache> groups, std::vector<RowPlace> places, RecurrentState recurrent)
      : groups_(std::move(groups)), places_(std::move(places)), recurrent_(std::move(recurrent)) {}

  std::vector<KvCache> groups_;   // as KvPlan::groups
  std::vector<RowPlace> places_;  // as KvPlan::places
  RecurrentState recurrent_;
};

}  // namespace kinglet
