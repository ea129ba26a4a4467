// Learned vectors of positions for grids of another size than they were learned for.
#pragma once

#include <cstdint>
#include <vector>

#include "vision/projector.h"

namespace kinglet {

// What each line (or column) of the new grid is made of: neighbouring lines of the learned one,
// whose weights add up to 1.
struct PositionTaps {
  struct Span {
    uint32_t first;
    std::vector<float> weights;
  };
  std::vector<Span> spans;

  // Positions::fixed: each is itself.
  static PositionTaps make(uint32_t n_from, uint32_t n_to, Positions positions);
};

}  // namespace kinglet
