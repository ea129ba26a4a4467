// A convolution over the last few tokens, each channel by itself: short convolutions, delta nets
// and state spaces use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/blocks/block.h"
#include "model/layer_loader.h"

namespace kinglet {

// The largest width of a short convolution; those of real models are 3 or 4 wide.
constexpr uint32_t kMaxConvolution = 32;

// out[t][c] = bias[c] + sum over j < width of taps[j][c] * x[t - width + 1 + j][c]. The sequence
// keeps the last width - 1 rows of x; before the first token they are 0.
class CausalConvolution {
 public:
  // Loads "PART.weight" [n_channels][width], with the tap for the token itself last, and
  // "PART.bias".
  static Result<CausalConvolution> load(LayerLoader& loader, std::string_view part, uint32_t width,
                                        uint32_t n_channels, Presence bias);

  // See Block::derive().
  void derive();

  uint32_t n_channels() const { return n_channels_; }

  // Takes memory for the input [n_tokens][n_channels], which the caller fills, with room for the
  // rows of earlier tokens before it.
  float* take_input(Arena& arena, uint64_t n_tokens) const;

  // Computes out [n_tokens][n_channels] from the filled input. Both are in the step's arena.
  void run(Step& step, float* input, float* out) const;

 private:
  size_t n_kept() const { return size_t{width_ - 1} * n_channels_; }

  uint32_t width_ = 0;
  uint32_t n_channels_ = 0;
  const float* stored_taps_ = nullptr;  // [n_channels][width]
  std::vector<float> taps_;             // [width][n_channels]
  const float* bias_ = nullptr;         // [n_channels], or null
  uint64_t state_ = 0;                  // offset of the kept rows in the recurrent state
};

}  // namespace kinglet
