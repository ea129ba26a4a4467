// Chooses which checkpoints a sequence keeps.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kinglet {

constexpr uint32_t kMostCheckpoints = 16;

// Returns the index of the checkpoint to give up: the one that lies nearest to its neighbours in
// proportion to its distance from `now`. There are n checkpoints, at ascending positions
// position(i). The newest is never chosen unless it is the only one.
template <class F>
size_t least_missed(size_t n, uint32_t now, const F& position) {
  size_t least = 0;
  double least_worth = 0;
  for (size_t i = 0; i + 1 < n; ++i) {
    const uint32_t previous = i == 0 ? 0 : position(i - 1);
    const double gap = position(i + 1) - previous;
    const double worth = gap / (now - previous);
    if (i == 0 || worth < least_worth) {
      least = i;
      least_worth = worth;
    }
  }
  return least;
}

}  // namespace kinglet
