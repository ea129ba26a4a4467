// The kernel sets of all instruction sets. The build decides which of them exist.
#pragma once

#include "kernels/kernels.h"

namespace kinglet {

// The maximum number of sets in one build, including scalar.
#if defined(__wasm__)
constexpr size_t kMostKernelSets = 2;
#else
constexpr size_t kMostKernelSets = 4;
#endif

const KernelSet& wasm_kernels();  // simd128 or relaxed-simd
const KernelSet& avx2_kernels();
const KernelSet& avx_vnni_kernels();
const KernelSet& avx512_vnni_kernels();
const KernelSet& neon_kernels();
const KernelSet& neon_dotprod_kernels();
const KernelSet& neon_i8mm_kernels();

}  // namespace kinglet
