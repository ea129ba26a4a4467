// NEON with dot products of 8-bit numbers: all Apple processors and most others since 2018.
#include "kernels/arm/neon_dot.h"
#include "kernels/instruction_sets.h"
#include "kernels/vector/kernels.h"

namespace kinglet {
namespace {

struct NeonDotprod : NeonDotVector {
  static constexpr TileTokens kTokens{
      .q4_0 = 4, .q5_0 = 4, .q8_0 = 8, .q4_k = 4, .q6_k = 4, .floats = 4};
};

}  // namespace

const KernelSet& neon_dotprod_kernels() {
  static const KernelSet kernels = VectorKernels<NeonDotprod>::kernel_set("neon-dotprod");
  return kernels;
}

}  // namespace kinglet
