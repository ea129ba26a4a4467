// Kernels whose calls are counted and timed.
//
// They are a set of their own, which calls the functions of another one between two looks at a
// monotonic clock: a model that was not loaded with it runs no code that knows of measuring.
#pragma once

#include "base/latency_histogram.h"
#include "kernels/kernels.h"

namespace kinglet {

// The measured form of one of available_kernels(), by the same name and for weights packed alike.
const KernelSet& measured_kernels(const KernelSet& kernels);

// One time for each call of a function of the measured set, from any thread. `kernels` is either
// form of a set.
LatencyHistogram kernel_latencies(const KernelSet& kernels);

// Forgets them.
void reset_kernel_latencies(const KernelSet& kernels);

}  // namespace kinglet
