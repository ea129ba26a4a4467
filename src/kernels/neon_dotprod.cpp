// NEON with dot products of 8-bit numbers: all Apple processors and most others since 2018.
#include "kernels/instruction_sets.h"
#include "kernels/neon_dot.h"
#include "kernels/vector_kernels.h"

namespace kinglet {
namespace {

struct NeonDotprod : NeonDotVector {
  static constexpr size_t kTokens = 4;
};

}  // namespace

const KernelSet& neon_dotprod_kernels() {
  static const KernelSet kernels = VectorKernels<NeonDotprod>::kernel_set("neon-dotprod");
  return kernels;
}

}  // namespace kinglet
