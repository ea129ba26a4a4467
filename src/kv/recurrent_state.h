// The fixed-size state of recurrent layers, and the places that a sequence can go back to.
//
// Keys and values can be cut at any position. A recurrent state sums up all earlier positions and
// cannot be cut. A committed state is therefore never written again: a step reads one state and
// writes the next into other memory. So a failed step changes nothing, a checkpoint is a state that
// is kept, and forks share states, all without copies.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "kv/checkpoints.h"

namespace kinglet {

// Bytes that the checkpoints of a session may take, and the least number of them. The most is
// kMostCheckpoints.
constexpr uint64_t kCheckpointBudget = uint64_t{96} << 20;
constexpr uint32_t kFewestCheckpoints = 2;

// The states other than the checkpoints: the one that a step reads, the one that a step writes, and
// the one that a call of several steps goes back to if it fails.
constexpr uint32_t kWorkingStates = 3;

// The number of checkpoints of n_floats that the budget allows; 0 if there is no state.
uint32_t checkpoints_within_budget(uint64_t n_floats);

// Bytes of a session's recurrent states, checkpoints included.
uint64_t recurrent_state_bytes(uint64_t n_floats);

class RecurrentState {
 public:
  // Makes a state of n_floats zeros at position 0. Fails with ErrorCode::out_of_memory.
  static Result<RecurrentState> create(uint64_t n_floats);

  // Returns another sequence that shares this state and its checkpoints. Fails with
  // ErrorCode::out_of_memory.
  Result<RecurrentState> fork() const;

  RecurrentState(RecurrentState&& other) noexcept;
  RecurrentState& operator=(RecurrentState&& other) noexcept;
  ~RecurrentState();

  bool is_empty() const;   // whether there are no recurrent layers
  uint64_t bytes() const;  // of this sequence and its forks
  uint32_t position() const { return live_.position; }
  uint64_t n_floats() const;
  std::span<const std::byte> as_bytes() const;  // of the state
  uint32_t n_checkpoints() const { return static_cast<uint32_t>(checkpoints_.size()); }

  // --- A step -----------------------------------------------------------------------------------

  const float* before() const;  // [n_floats]: read by the step
  float* after();               // [n_floats]: the step must write all of it

  // Makes after() the state, and moves the position n_positions further.
  void commit(uint32_t n_positions);

  // --- Going back -------------------------------------------------------------------------------

  // Keeps the state as a checkpoint. If there are too many, gives up the one that lies nearest to
  // its neighbours in proportion to its distance from here (see least_missed()).
  void add_checkpoint();

  // Keeps the state, in addition to the checkpoints, until unpin() or the next pin().
  void pin();
  void unpin();

  // The last position at or before n_positions whose state is available: the position of a
  // checkpoint, of the pinned state, of the current state, or 0.
  uint32_t reachable(uint32_t n_positions) const;

  // Goes back to reachable(n_positions), and forgets the checkpoints and the pinned state after it.
  void truncate(uint32_t n_positions);

  // Makes the n_floats in `bytes` the state at `position`, and forgets all checkpoints and the held
  // state.
  void overwrite(uint32_t position, std::span<const std::byte> bytes);

 private:
  class Pool;
  static constexpr uint32_t kNoSlot = UINT32_MAX;

  // The position of a state, and its slot in the pool's memory.
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
  Place next_;  // the state that the step writes; its position has no meaning
  Place pinned_;
  std::vector<Place> checkpoints_;  // by position
};

}  // namespace kinglet
