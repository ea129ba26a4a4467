// The scalar kernels of recurrent layers; see KernelSet.
#pragma once

#include "kernels/kernels.h"

namespace kinglet {

void scalar_convolve(const float* const* rows, const float* taps, const float* bias, size_t width,
                     size_t n, float* out);
void scalar_delta_rule(const DeltaRule& head);
void scalar_state_space(const StateSpace& head);

}  // namespace kinglet
