// Resizes learned position vectors to a grid of another size.
#pragma once

#include <cstdint>
#include <vector>

#include "vision/projector.h"

namespace kinglet {

// For each line (or column) of the new grid: the neighbouring lines of the learned grid that it is
// computed from, with weights that add up to 1.
struct PositionTaps {
  struct Span {
    uint32_t first;
    std::vector<float> weights;
  };
  std::vector<Span> spans;

  // If the sizes are equal, as always with Positions::fixed, each line is itself.
  static PositionTaps make(uint32_t n_from, uint32_t n_to, Positions positions);
};

}  // namespace kinglet
