// Kernels whose calls are counted and timed.
//
// A measured set is a separate set. Its functions read a monotonic clock before and after they call
// the functions of another set. A model that is loaded with another set runs no measuring code.
#pragma once

#include "base/latency_histogram.h"
#include "kernels/kernels.h"

namespace kinglet {

// Returns the measured form of one of available_kernels(). It has the same name and the same layout
// of packed weights.
const KernelSet& measured_kernels(const KernelSet& kernels);

// Returns the times of all calls of the measured set's functions, from any thread. `kernels` is
// either form of a set.
LatencyHistogram kernel_latencies(const KernelSet& kernels);

// Drops these times.
void reset_kernel_latencies(const KernelSet& kernels);

}  // namespace kinglet
