// Whether numbers are usable: damaged weights and files make NaN and infinity.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace kinglet {

inline bool all_finite(std::span<const float> numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); });
}

}  // namespace kinglet
