// The fixed-size state of recurrent layers, and the places that a sequence can go back to.
//
// Keys and values can be cut at any position; a recurrent state holds all that came before and
// cannot. A state that was committed is therefore never written again: a step reads one and writes
// the next into other memory. So a step that fails has changed nothing, a checkpoint is a state
// that is kept, and forks share states, all without a copy.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "kv/checkpoints.h"

namespace kinglet {

// Memory that checkpoints of a session may take, and how many there are at least; at most
// kMostCheckpoints.
constexpr uint64_t kCheckpointBudget = uint64_t{96} << 20;
constexpr uint32_t kFewestCheckpoints = 2;

// The states beside them: the one that a step reads, the one that it writes, and the one that a
// call of several steps goes back to when it fails.
constexpr uint32_t kWorkingStates = 3;

// As many checkpoints of n_floats as the budget allows; 0 where there is no state.
uint32_t checkpoints_within_budget(uint64_t n_floats);

// Bytes of a session's recurrent states, checkpoints included.
uint64_t recurrent_state_bytes(uint64_t n_floats);

class RecurrentState {
 public:
  // Of n_floats, all zero, at position 0. ErrorCode::out_of_memory.
  static Result<RecurrentState> create(uint64_t n_floats);

  // The same state and checkpoints, shared. ErrorCode::out_of_memory.
  Result<RecurrentState> fork() const;

  RecurrentState(RecurrentState&& other) noexcept;
  RecurrentState& operator=(RecurrentState&& other) noexcept;
  ~RecurrentState();

  bool is_empty() const;   // there are no recurrent layers
  uint64_t bytes() const;  // of this sequence and its forks
  uint32_t position() const { return live_.position; }
  uint64_t n_floats() const;
  std::span<const std::byte> as_bytes() const;  // of the state
  uint32_t n_checkpoints() const { return static_cast<uint32_t>(checkpoints_.size()); }

  // --- A step -----------------------------------------------------------------------------------

  const float* before() const;  // [n_floats]: read by the step
  float* after();               // [n_floats]: all of it is to be written by the step

  // Makes what was written the state, n_positions further on.
  void commit(uint32_t n_positions);

  // --- Going back -------------------------------------------------------------------------------

  // Keeps the state as a checkpoint. Where there are too many, one is given up that lies near its
  // neighbours in proportion to its distance from here.
  void keep();

  // Keeps the state beside the checkpoints until release() or the next hold().
  void hold();
  void release();

  // The last position at or before n_positions whose state is there: that of a checkpoint, of the
  // state held, the state's own, or 0.
  uint32_t reachable(uint32_t n_positions) const;

  // Goes back to reachable(n_positions), and forgets the places after it.
  void truncate(uint32_t n_positions);

  // Makes the n_floats in `bytes` the state of `position`, and forgets every other place.
  void overwrite(uint32_t position, std::span<const std::byte> bytes);

 private:
  class Pool;
  static constexpr uint32_t kNoSlot = UINT32_MAX;

  // A state in the pool's memory.
  struct Place {
    uint32_t position = 0;
    uint32_t slot = kNoSlot;
  };

  RecurrentState(std::shared_ptr<Pool> pool, uint32_t most_checkpoints);

  Place shared(const Place& place) const;
  void drop(Place& place) const;
  void thin_out();
  float* renew(uint32_t position);

  std::shared_ptr<Pool> pool_;
  uint32_t most_checkpoints_ = 0;
  Place live_;
  Place next_;  // what the step writes; its position has no meaning
  Place held_;
  std::vector<Place> checkpoints_;  // by position
};

}  // namespace kinglet
