// Chooses the number of threads that a model runs on if the caller did not.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/model.h"

namespace kinglet {

struct ThreadLimits {
  uint32_t most;        // that a caller may ask for
  uint32_t most_usual;  // that are started if the caller does not ask
};
constexpr ThreadLimits kProgramThreads = {1024, 512};
// In pages, each thread is a worker, which takes long to start and has memory of its own.
constexpr ThreadLimits kPageThreads = {64, 8};

// Fewer threads must be faster by this factor: noise can make equal times differ by that much.
constexpr double kClearlyFaster = 0.95;

// Returns the number of threads, at most `n`, that is fastest. compare(a, b) returns whether b
// threads are clearly faster than a, with b < a. The number is halved as long as half as many
// threads are faster. In the end it is compared with one, so that the choice is never slower than
// one thread.
template <class Compare>
size_t fastest_threads(size_t n, const Compare& compare) {
  while (n > 1 && compare(n, n / 2)) n /= 2;
  return n > 1 && compare(n, 1) ? 1 : n;
}

// Limits the pool to the number of threads that multiplies the model's last matrix fastest. Takes
// some milliseconds. Does not change any result: results do not depend on the number of threads.
// ErrorCode::out_of_memory.
Status choose_threads(const Model& model, ThreadPool& pool);

}  // namespace kinglet
