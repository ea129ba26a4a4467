#include "kernels/scalar/recurrent.h"

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
  for (size_t t = 0; t < head.n_tokens; ++t) {
    const float* query = head.query + t * head.row_stride;
    const float* key = head.key + t * head.row_stride;
    const float decay = head.decay[t * head.gate_stride];
    for (size_t v = 0; v < head.n_values; ++v) {
      const float* from = (t == 0 ? head.from : head.to) + v * head.n_keys;
      float* to = head.to + v * head.n_keys;
      float known = 0.0f;
      for (size_t k = 0; k < head.n_keys; ++k) known += from[k] * key[k];
      const float error = head.value[t * head.row_stride + v] - decay * known;
      const float correction = head.strength[t * head.gate_stride] * error;
      float output = 0.0f;
      for (size_t k = 0; k < head.n_keys; ++k) {
        to[k] = decay * from[k] + correction * key[k];
        output += to[k] * query[k];
      }
      head.output[t * head.output_stride + v] = output;
    }
  }
}

void scalar_state_space(const StateSpace& head) {
  for (size_t t = 0; t < head.n_tokens; ++t) {
    const float* x = head.x + t * head.row_stride;
    const float* input = head.input + t * head.row_stride;
    const float* readout = head.readout + t * head.row_stride;
    const float decay = head.decay[t * head.gate_stride];
    for (size_t c = 0; c < head.n_channels; ++c) {
      const float* from = (t == 0 ? head.from : head.to) + c * head.n_states;
      float* to = head.to + c * head.n_states;
      const float added = head.step[t * head.gate_stride] * x[c];
      float output = 0.0f;
      for (size_t i = 0; i < head.n_states; ++i) {
        to[i] = decay * from[i] + added * input[i];
        output += to[i] * readout[i];
      }
      head.output[t * head.output_stride + c] = output + head.skip * x[c];
    }
  }
}

}  // namespace kinglet
