#include "model/blocks/causal_convolution.h"

#include <algorithm>
#include <string>

#include "model/step.h"

namespace kinglet {

Result<CausalConvolution> CausalConvolution::load(LayerLoader& loader, std::string_view part,
                                                  uint32_t width, uint32_t n_channels,
                                                  Presence bias) {
  CausalConvolution convolution;
  convolution.width_ = width;
  convolution.n_channels_ = n_channels;
  KINGLET_ASSIGN(convolution.stored_taps_,
                 loader.vector(std::string(part) + ".weight", uint64_t{width} * n_channels, width));
  KINGLET_ASSIGN(convolution.bias_, loader.bias(part, n_channels, bias));
  convolution.state_ = loader.keep_recurrent(convolution.n_kept());
  return convolution;
}

void CausalConvolution::derive() {
  taps_.resize(size_t{width_} * n_channels_);
  for (size_t channel = 0; channel < n_channels_; ++channel) {
    for (size_t j = 0; j < width_; ++j) {
      taps_[j * n_channels_ + channel] = stored_taps_[channel * width_ + j];
    }
  }
}

float* CausalConvolution::take_input(Arena& arena, uint64_t n_tokens) const {
  float* const rows = arena.take<float>(n_kept() + n_tokens * n_channels_);
  return rows == nullptr ? nullptr : rows + n_kept();
}

void CausalConvolution::run(Step& step, float* input, float* out) const {
  RecurrentState& state = step.state().recurrent();
  float* const rows = input - n_kept();
  std::copy_n(state.before() + state_, n_kept(), rows);
  step.for_each(step.n_tokens(), [&](size_t t) {
    const float* window[kMaxConvolution];
    for (uint32_t j = 0; j < width_; ++j) window[j] = rows + (t + j) * n_channels_;
    step.kernels().convolve(window, taps_.data(), bias_, width_, n_channels_,
                            out + t * n_channels_);
  });
  std::copy_n(rows + step.n_tokens() * n_channels_, n_kept(), state.after() + state_);
}

}  // namespace kinglet
