// The kernel sets of each instruction set; which of them exist depends on the build.
#pragma once

#include "kernels/kernels.h"

namespace kinglet {

// Sets that one build can have, scalar among them.
#if defined(__wasm__)
constexpr size_t kMostKernelSets = 2;
#else
constexpr size_t kMostKernelSets = 4;
#endif

const KernelSet& simd128_kernels();
const KernelSet& relaxed_simd_kernels();
const KernelSet& avx2_kernels();
const KernelSet& avx_vnni_kernels();
const KernelSet& avx512_vnni_kernels();
const KernelSet& neon_kernels();
const KernelSet& neon_dotprod_kernels();
const KernelSet& neon_i8mm_kernels();

}  // namespace kinglet
