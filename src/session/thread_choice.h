// How many threads a model runs on where nobody said.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/model.h"

namespace kinglet {

// The number of threads, `n` or fewer, that are fastest. compare(a, b) tells whether b < a threads
// are clearly faster than a. Ever half as many are tried while they are, and one in the end, so
// that the choice is never slower than one.
template <class Compare>
size_t fastest_threads(size_t n, const Compare& compare) {
  while (n > 1 && compare(n, n / 2)) n /= 2;
  return n > 1 && compare(n, 1) ? 1 : n;
}

// Limits the pool to the threads on which it multiplies the model's last matrix fastest. Takes some
// milliseconds, and changes no result: those do not depend on threads. ErrorCode::out_of_memory.
Status choose_threads(const Model& model, ThreadPool& pool);

}  // namespace kinglet
