// Recurrent states and their checkpoints, compared with a plain list of the state at each position.
#include "kv/recurrent_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace kinglet {
namespace {

constexpr uint64_t kFloats = 5;

// A state, and its numbers at each position.
struct TrackedState {
  RecurrentState state;
  std::vector<float> history = {0.0f};  // at position p, all numbers of the state are history[p]

  explicit TrackedState(RecurrentState s) : state(std::move(s)) {}

  static TrackedState create() {
    return TrackedState(std::move(RecurrentState::create(kFloats).value()));
  }

  void step(uint32_t n, float value) {
    std::fill_n(state.after(), kFloats, value);
    state.commit(n);
    history.resize(state.position(), -1.0f);  // positions inside a step cannot be reached
    history.push_back(value);
  }

  void check() const {
    for (uint64_t i = 0; i < kFloats; ++i) {
      ASSERT_EQ(state.before()[i], history[state.position()]) << state.position();
    }
  }

  void truncate(uint32_t n) {
    const uint32_t expected = state.reachable(n);
    EXPECT_LE(expected, n);
    state.truncate(n);
    EXPECT_EQ(state.position(), expected);
    history.resize(expected + 1);
    check();
  }
};

TEST(RecurrentState, BeginsWithZeros) {
  TrackedState tracked = TrackedState::create();
  EXPECT_EQ(tracked.state.position(), 0u);
  tracked.check();
  EXPECT_EQ(tracked.state.bytes(), recurrent_state_bytes(kFloats));
}

TEST(RecurrentState, AStepThatIsNotCommittedChangesNothing) {
  TrackedState tracked = TrackedState::create();
  tracked.step(3, 1.0f);
  std::fill_n(tracked.state.after(), kFloats, 9.0f);
  EXPECT_EQ(tracked.state.position(), 3u);
  tracked.check();
}

TEST(RecurrentState, GoesBackToACheckpointAtOrBefore) {
  TrackedState tracked = TrackedState::create();
  tracked.step(4, 1.0f);
  tracked.state.add_checkpoint();
  tracked.step(4, 2.0f);
  EXPECT_EQ(tracked.state.reachable(8), 8u);
  EXPECT_EQ(tracked.state.reachable(7), 4u);
  EXPECT_EQ(tracked.state.reachable(3), 0u);
  tracked.truncate(7);
  tracked.step(1, 3.0f);
  tracked.truncate(4);  // the checkpoint is still there
  EXPECT_EQ(tracked.state.position(), 4u);
  tracked.truncate(3);
  EXPECT_EQ(tracked.state.position(), 0u);
  EXPECT_EQ(tracked.state.n_checkpoints(), 0u);
}

TEST(RecurrentState, HoldsAPlaceBesideTheCheckpoints) {
  TrackedState tracked = TrackedState::create();
  tracked.step(4, 1.0f);
  tracked.state.pin();
  tracked.step(1, 2.0f);
  tracked.step(1, 3.0f);
  EXPECT_EQ(tracked.state.reachable(5), 4u);
  tracked.truncate(4);
  tracked.state.unpin();
  tracked.step(1, 4.0f);
  EXPECT_EQ(tracked.state.reachable(4), 0u);
}

TEST(RecurrentState, KeepsCheckpointsEverywhereButDenserBehind) {
  TrackedState tracked = TrackedState::create();
  std::vector<uint32_t> reachable;
  for (uint32_t i = 0; i < 1000; ++i) {
    tracked.step(1, static_cast<float>(i));
    tracked.state.add_checkpoint();
    EXPECT_LE(tracked.state.n_checkpoints(), kMostCheckpoints);
  }
  EXPECT_EQ(tracked.state.n_checkpoints(), kMostCheckpoints);
  for (const uint32_t back : {1u, 2u, 4u, 16u, 64u, 256u, 512u}) {
    const uint32_t wanted = 1000 - back;
    const uint32_t lost = wanted - tracked.state.reachable(wanted);
    EXPECT_LE(lost, back) << "to go back by " << back << ", " << lost << " more are computed again";
  }
}

TEST(RecurrentState, ForksGoTheirOwnWays) {
  TrackedState parent = TrackedState::create();
  parent.step(4, 1.0f);
  parent.state.add_checkpoint();
  parent.step(2, 2.0f);
  auto forked = parent.state.fork();
  ASSERT_TRUE(forked.ok());
  TrackedState fork(std::move(forked.value()));
  fork.history = parent.history;
  fork.check();
  fork.step(1, 3.0f);
  parent.step(1, 4.0f);
  fork.check();
  parent.check();
  fork.truncate(5);
  EXPECT_EQ(fork.state.position(), 4u);
  parent.check();
  { const TrackedState gone = std::move(parent); }
  fork.step(1, 5.0f);
  fork.check();
}

TEST(RecurrentState, ForksThatAreGoneLeaveTheirRoomToTheNext) {
  const TrackedState parent = TrackedState::create();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(parent.state.fork().ok());
  EXPECT_EQ(parent.state.bytes(), 2 * recurrent_state_bytes(kFloats));
}

TEST(RecurrentState, NothingToKeepIsNothingToLose) {
  auto created = RecurrentState::create(0);
  ASSERT_TRUE(created.ok());
  RecurrentState& state = created.value();
  state.commit(7);
  state.add_checkpoint();
  EXPECT_EQ(state.reachable(5), 5u);
  state.truncate(5);
  EXPECT_EQ(state.position(), 5u);
  EXPECT_EQ(state.bytes(), 0u);
  EXPECT_TRUE(state.fork().ok());
}

TEST(RecurrentState, MemoryOfCheckpointsIsBounded) {
  EXPECT_EQ(checkpoints_within_budget(0), 0u);
  EXPECT_EQ(checkpoints_within_budget(1000), kMostCheckpoints);
  EXPECT_EQ(checkpoints_within_budget(uint64_t{5} << 20), 4u);
  EXPECT_EQ(checkpoints_within_budget(uint64_t{1} << 30), kFewestCheckpoints);
}

// Random calls on several forks: each always has the numbers of its own history.
TEST(RecurrentState, AnyCallsKeepTheTruth) {
  std::mt19937 random(7);
  std::vector<TrackedState> family;
  family.push_back(TrackedState::create());
  for (int i = 0; i < 20000; ++i) {
    TrackedState& one = family[random() % family.size()];
    switch (random() % 8) {
      case 0:
        one.state.add_checkpoint();
        break;
      case 1:
        one.truncate(static_cast<uint32_t>(random() % (one.state.position() + 1)));
        break;
      case 2:
        one.state.pin();
        break;
      case 3:
        one.state.unpin();
        break;
      case 4:
        if (family.size() < 6) {
          TrackedState fork(std::move(one.state.fork().value()));
          fork.history = one.history;
          family.push_back(std::move(fork));
        } else {
          std::swap(family[random() % family.size()], family.back());
          family.pop_back();
        }
        break;
      default:
        one.step(1 + static_cast<uint32_t>(random() % 3), static_cast<float>(i));
    }
    for (const TrackedState& each : family) each.check();
  }
}

}  // namespace
}  // namespace kinglet
