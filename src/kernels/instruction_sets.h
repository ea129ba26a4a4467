// The kernel sets of all instruction sets, and where each can run.
#pragma once

#include <array>

#include "kernels/arm/features.h"
#include "kernels/kernels.h"
#include "kernels/x86/features.h"

namespace kinglet {

const KernelSet& wasm_kernels();  // simd128 or relaxed-simd
const KernelSet& avx2_kernels();
const KernelSet& avx_vnni_kernels();
const KernelSet& avx512_vnni_kernels();
const KernelSet& neon_kernels();
const KernelSet& neon_dotprod_kernels();
const KernelSet& neon_i8mm_kernels();

struct InstructionSet {
  const KernelSet& (*kernels)();
  bool (*runs_here)();
};
inline bool runs_everywhere() { return true; }

// The sets of this build, the fastest first.
inline constexpr std::array kInstructionSets = {
#if defined(__wasm__)
    // A module is validated as a whole, and no page would use two sets: the linker chooses one.
    InstructionSet{wasm_kernels, runs_everywhere},
#elif defined(__x86_64__)
    InstructionSet{avx512_vnni_kernels, x86::has_avx512_vnni},
    InstructionSet{avx_vnni_kernels, x86::has_avx_vnni},
    InstructionSet{avx2_kernels, x86::has_avx2},
#elif defined(__aarch64__)
    InstructionSet{neon_i8mm_kernels, arm::has_matrix_products},
    InstructionSet{neon_dotprod_kernels, arm::has_dot_products},
    InstructionSet{neon_kernels, runs_everywhere},
#endif
    InstructionSet{scalar_kernels, runs_everywhere},
};

}  // namespace kinglet
