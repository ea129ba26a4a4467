#include "kv/recurrent_state.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kinglet {
uint32_t checkpoints_within_budget(uint64_t n_floats) {
  if (n_floats == 0) return 0;
  const uint64_t n = kCheckpointBudget / (n_floats * sizeof(float));
  return static_cast<uint32_t>(std::clamp<uint64_t>(n, kFewestCheckpoints, kMostCheckpoints));
}

uint64_t recurrent_state_bytes(uint64_t n_floats) {
  if (n_floats == 0) return 0;
  return (kWorkingStates + checkpoints_within_budget(n_floats)) * n_floats * sizeof(float);
}

// Slots for states of one size, and the number of users of each. A sequence and its forks share one
// pool, which has as many slots as all of them can fill.
class RecurrentState::Pool {
 public:
  explicit Pool(uint64_t n_floats) : n_floats_(n_floats) {}

  uint64_t n_floats() const { return n_floats_; }
  uint64_t bytes() const { return slots_.size() * n_floats_ * sizeof(float); }
  float* floats(uint32_t slot) { return reinterpret_cast<float*>(slots_[slot].data()); }

  // Makes room for one more sequence. Reuses the slots of sequences that are gone.
  Status add_sequence(uint32_t n_slots) {
    while (slots_.size() < size_t{n_sequences_ + 1} * n_slots) {
      KINGLET_ASSIGN(AlignedBuffer slot, AlignedBuffer::allocate(n_floats_ * sizeof(float),
                                                                 "the state of recurrent layers"));
      free_.push_back(static_cast<uint32_t>(slots_.size()));
      slots_.push_back(std::move(slot));
      n_users_.push_back(0);
    }
    free_.reserve(slots_.size());  // so that no step allocates
    ++n_sequences_;
    return {};
  }
  void remove_sequence() { --n_sequences_; }

  uint32_t take() {
    const uint32_t slot = free_.back();
    free_.pop_back();
    n_users_[slot] = 1;
    return slot;
  }
  void share(uint32_t slot) { ++n_users_[slot]; }
  void release(uint32_t slot) {
    if (--n_users_[slot] == 0) free_.push_back(slot);
  }

 private:
  uint64_t n_floats_;
  uint32_t n_sequences_ = 0;
  std::vector<AlignedBuffer> slots_;
  std::vector<uint32_t> n_users_;
  std::vector<uint32_t> free_;
};

RecurrentState::RecurrentState(std::shared_ptr<Pool> pool, uint32_t most_checkpoints)
    : pool_(std::move(pool)), most_checkpoints_(most_checkpoints) {
  checkpoints_.reserve(most_checkpoints + 1);
}

Result<RecurrentState> RecurrentState::create(uint64_t n_floats) {
  const uint32_t most_checkpoints = checkpoints_within_budget(n_floats);
  auto pool = std::make_shared<Pool>(n_floats);
  if (n_floats > 0) KINGLET_TRY(pool->add_sequence(kWorkingStates + most_checkpoints));
  RecurrentState state(std::move(pool), most_checkpoints);
  if (state.is_empty()) return state;
  state.next_.slot = state.pool_->take();
  state.truncate(0);
  return state;
}

Result<RecurrentState> RecurrentState::fork() const {
  if (!is_empty()) KINGLET_TRY(pool_->add_sequence(kWorkingStates + most_checkpoints_));
  RecurrentState state(pool_, most_checkpoints_);
  state.live_.position = live_.position;
  if (is_empty()) return state;
  state.live_ = shared(live_);
  state.next_.slot = pool_->take();
  for (const Place& place : checkpoints_) state.checkpoints_.push_back(shared(place));
  return state;
}

RecurrentState::RecurrentState(RecurrentState&& other) noexcept { *this = std::move(other); }

RecurrentState& RecurrentState::operator=(RecurrentState&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(most_checkpoints_, other.most_checkpoints_);
  std::swap(live_, other.live_);
  std::swap(next_, other.next_);
  std::swap(pinned_, other.pinned_);
  std::swap(checkpoints_, other.checkpoints_);
  return *this;
}

RecurrentState::~RecurrentState() {
  if (pool_ == nullptr || is_empty()) return;
  drop(live_);
  drop(next_);
  drop(pinned_);
  for (Place& place : checkpoints_) drop(place);
  pool_->remove_sequence();
}

bool RecurrentState::is_empty() const { return pool_->n_floats() == 0; }

uint64_t RecurrentState::n_floats() const { return pool_->n_floats(); }

std::span<const std::byte> RecurrentState::as_bytes() const {
  if (is_empty()) return {};
  return std::as_bytes(std::span(before(), static_cast<size_t>(n_floats())));
}

uint64_t RecurrentState::bytes() const { return pool_->bytes(); }

const float* RecurrentState::before() const { return pool_->floats(live_.slot); }

float* RecurrentState::after() { return pool_->floats(next_.slot); }

void RecurrentState::commit(uint32_t n_positions) {
  const uint32_t position = live_.position + n_positions;
  if (!is_empty()) {
    drop(live_);
    live_ = std::exchange(next_, {});
    next_.slot = pool_->take();
  }
  live_.position = position;
}

void RecurrentState::add_checkpoint() {
  if (is_empty() || live_.position == 0) return;
  if (!checkpoints_.empty() && checkpoints_.back().position == live_.position) return;
  checkpoints_.push_back(shared(live_));
  if (checkpoints_.size() > most_checkpoints_) thin_out();
}

void RecurrentState::thin_out() {
  const size_t least = least_missed(checkpoints_.size(), live_.position,
                                    [&](size_t i) { return checkpoints_[i].position; });
  drop(checkpoints_[least]);
  checkpoints_.erase(checkpoints_.begin() + static_cast<ptrdiff_t>(least));
}

void RecurrentState::pin() {
  unpin();
  if (!is_empty()) pinned_ = shared(live_);
}

void RecurrentState::unpin() { drop(pinned_); }

uint32_t RecurrentState::reachable(uint32_t n_positions) const {
  if (is_empty() || n_positions >= live_.position) return std::min(n_positions, live_.position);
  uint32_t position = 0;
  for (const Place& place : checkpoints_) {
    if (place.position <= n_positions) position = place.position;
  }
  const bool holds = pinned_.slot != kNoSlot && pinned_.position <= n_positions;
  return holds ? std::max(position, pinned_.position) : position;
}

void RecurrentState::truncate(uint32_t n_positions) {
  const uint32_t position = reachable(n_positions);
  if (is_empty()) {
    live_.position = position;
    return;
  }
  while (!checkpoints_.empty() && checkpoints_.back().position > position) {
    drop(checkpoints_.back());
    checkpoints_.pop_back();
  }
  if (pinned_.position > position) drop(pinned_);
  if (live_.slot != kNoSlot && live_.position == position) return;
  drop(live_);
  if (pinned_.slot != kNoSlot && pinned_.position == position) {
    live_ = shared(pinned_);
  } else if (!checkpoints_.empty() && checkpoints_.back().position == position) {
    live_ = shared(checkpoints_.back());
  } else {
    std::fill_n(renew(0), n_floats(), 0.0f);
  }
}

void RecurrentState::overwrite(uint32_t position, std::span<const std::byte> bytes) {
  if (is_empty()) {
    live_.position = position;
    return;
  }
  for (Place& place : checkpoints_) drop(place);
  checkpoints_.clear();
  unpin();
  std::memcpy(renew(position), bytes.data(), bytes.size());
}

// Takes a new slot for the state of `position`, and returns its floats, to be written.
float* RecurrentState::renew(uint32_t position) {
  drop(live_);
  live_ = {position, pool_->take()};
  return pool_->floats(live_.slot);
}

RecurrentState::Place RecurrentState::shared(const Place& place) const {
  pool_->share(place.slot);
  return place;
}

void RecurrentState::drop(Place& place) const {
  if (place.slot != kNoSlot) pool_->release(place.slot);
  place = {};
}

}  // namespace kinglet
