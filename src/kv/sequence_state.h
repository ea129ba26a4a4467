// All that a session keeps of the tokens it has seen: the keys and values of its attention layers,
// and the states of its recurrent ones. What lets a step compute only its own tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/result.h"
#include "kv/kv_cache.h"
#include "kv/recurrent_state.h"

namespace kinglet {

// A step reserves room, writes to every layer and commits; a step that fails calls rollback(), and
// everything is as it was. Steps allocate nothing.
class SequenceState {
 public:
  // An empty sequence of up to `capacity` positions, with its keys and values in `store` and
  // n_recurrent floats of recurrent layers. ErrorCode::out_of_memory.
  static Result<SequenceState> create(std::shared_ptr<KvStore> store, uint64_t n_recurrent,
                                      uint32_t capacity);

  // Another one that begins with the same positions; see KvCache::fork. ErrorCode::out_of_memory.
  Result<SequenceState> fork() const;

  uint32_t capacity() const { return rows_.capacity(); }
  uint32_t size() const { return rows_.size(); }  // committed positions

  KvCache& rows() { return rows_; }
  const KvCache& rows() const { return rows_; }
  RecurrentState& recurrent() { return recurrent_; }
  const RecurrentState& recurrent() const { return recurrent_; }

  // Takes the room for a step. ErrorCode::context_full, out_of_memory.
  Status reserve(uint32_t n_positions) { return rows_.reserve(n_positions); }
  Status commit();
  void rollback() { rows_.rollback(); }

  // Forgets positions from n_positions on, and more where a recurrent state is not there: what is
  // left is size(). ErrorCode::invalid_argument past the end.
  Status truncate(uint32_t n_positions);

  // Makes everything writable that truncate(n_positions) leaves to be computed again.
  // ErrorCode::out_of_memory; nothing has changed then.
  Status unshare(uint32_t n_positions) { return rows_.unshare(recurrent_.reachable(n_positions)); }

  // Makes this a sequence of n_positions whose rows the caller is to write, with the bytes of the
  // recurrent floats behind them. ErrorCode::context_full, out_of_memory; nothing has changed then.
  Status overwrite(uint32_t n_positions, std::span<const std::byte> recurrent);

 private:
  SequenceState(KvCache rows, RecurrentState recurrent)
      : rows_(std::move(rows)), recurrent_(std::move(recurrent)) {}

  KvCache rows_;
  RecurrentState recurrent_;
};

}  // namespace kinglet
