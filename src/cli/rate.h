// Rates of work.
#pragma once

#include <chrono>
#include <cstddef>

namespace kinglet::cli {

inline double seconds_between(std::chrono::steady_clock::time_point begin,
                              std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// Returns 0 if no time has passed.
inline double per_second(size_t n, double seconds) {
  return seconds > 0 ? static_cast<double>(n) / seconds : 0.0;
}

}  // namespace kinglet::cli
