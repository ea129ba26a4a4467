// A convolution over the last few tokens, each channel by itself: what short convolutions, delta
// nets and state spaces see of a token's neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/blocks/block.h"
#include "model/layer_loader.h"

namespace kinglet {

// Wider ones would be no short convolution; real ones are 3 or 4 wide.
constexpr uint32_t kMaxConvolution = 32;

// out[t][c] = bias[c] + sum over j < width of taps[j][c] * x[t - width + 1 + j][c]. Keeps the last
// width - 1 rows of x, which are 0 in front of the first token.
class CausalConvolution {
 public:
  // "PART.weight" [n_channels][width], the last tap for the token itself, and "PART.bias".
  static Result<CausalConvolution> load(LayerLoader& loader, std::string_view part, uint32_t width,
                                        uint32_t n_channels, Presence bias);

  uint32_t n_channels() const { return n_channels_; }

  // The input [n_tokens][n_channels], which the caller fills; rows of earlier tokens lie before it.
  float* take_input(Arena& arena, uint64_t n_tokens) const;

  // out [n_tokens][n_channels] from the input that was filled. Both are in the step's arena.
  void run(Step& step, float* input, float* out) const;

 private:
  size_t n_kept() const { return size_t{width_ - 1} * n_channels_; }

  uint32_t width_ = 0;
  uint32_t n_channels_ = 0;
  std::vector<float> taps_;      // [width][n_channels]
  const float* bias_ = nullptr;  // [n_channels], or null
  uint64_t state_ = 0;           // where the kept rows are
};

}  // namespace kinglet
