#include "kernels/scalar_recurrent.h"

namespace kinglet {

void scalar_convolve(const float* const* rows, const float* taps, const float* bias, size_t width,
                     size_t n, float* out) {
  for (size_t i = 0; i < n; ++i) {
    float sum = bias == nullptr ? 0.0f : bias[i];
    for (size_t j = 0; j < width; ++j) sum += taps[j * n + i] * rows[j][i];
    out[i] = sum;
  }
}

void scalar_delta_rule(const DeltaRule& head) {
  for (size_t v = 0; v < head.n_values; ++v) {
    const float* from = head.from + v * head.n_keys;
    float* to = head.to + v * head.n_keys;
    float known = 0.0f;
    for (size_t k = 0; k < head.n_keys; ++k) known += from[k] * head.key[k];
    const float correction = head.strength * (head.value[v] - head.decay * known);
    float output = 0.0f;
    for (size_t k = 0; k < head.n_keys; ++k) {
      to[k] = head.decay * from[k] + correction * head.key[k];
      output += to[k] * head.query[k];
    }
    head.output[v] = output;
  }
}

void scalar_state_space(const StateSpace& head) {
  for (size_t c = 0; c < head.n_channels; ++c) {
    const float* from = head.from + c * head.n_states;
    float* to = head.to + c * head.n_states;
    const float x = head.step * head.x[c];
    float output = 0.0f;
    for (size_t i = 0; i < head.n_states; ++i) {
      to[i] = head.decay * from[i] + x * head.input[i];
      output += to[i] * head.readout[i];
    }
    head.output[c] = output + head.skip * head.x[c];
  }
}

}  // namespace kinglet
