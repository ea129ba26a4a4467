// Rates of work.
#pragma once

#include <cstddef>

namespace kinglet::cli {

// Returns 0 if no time has passed.
inline double per_second(size_t n, double seconds) {
  return seconds > 0 ? static_cast<double>(n) / seconds : 0.0;
}

}  // namespace kinglet::cli
