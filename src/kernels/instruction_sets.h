// The kernel sets of each instruction set; which of them exist depends on the build.
#pragma once

#include "kernels/kernels.h"

namespace kinglet {

// Sets that one build can have, scalar among them.
constexpr size_t kMostKernelSets = 3;

const KernelSet& simd128_kernels();
const KernelSet& relaxed_simd_kernels();
const KernelSet& avx2_kernels();
const KernelSet& avx512_vnni_kernels();

}  // namespace kinglet
