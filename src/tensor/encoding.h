// Functions that the encoders share.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace kinglet {

// The importance of weights that all matter equally, for up to a block.
inline constexpr std::array<float, 256> kEqualImportance = [] {
  std::array<float, 256> ones{};
  ones.fill(1.0f);
  return ones;
}();

// Returns the weight of largest magnitude, with its sign.
inline float extreme(const float* in, size_t n) {
  float result = 0.0f;
  float largest = 0.0f;
  for (size_t i = 0; i < n; ++i) {
    const float magnitude = std::fabs(in[i]);
    if (magnitude > largest) {
      largest = magnitude;
      result = in[i];
    }
  }
  return result;
}

inline float inverse(float scale) { return scale != 0.0f ? 1.0f / scale : 0.0f; }

// Returns x rounded down and clamped to 0..max; 0 for a NaN.
inline uint8_t to_code(float x, float max) {
  return static_cast<uint8_t>(std::min(std::max(0.0f, x), max));
}

// Packs 256 codes as bit pairs, in the layout of Q2_K.
inline void pack_pairs(const uint8_t* codes, uint8_t* pairs) {
  for (size_t half = 0; half < 256; half += 128) {
    for (size_t i = half; i < half + 32; ++i) {
      *pairs++ = static_cast<uint8_t>((codes[i] & 0x03) | (codes[i + 32] & 0x03) << 2 |
                                      (codes[i + 64] & 0x03) << 4 | (codes[i + 96] & 0x03) << 6);
    }
  }
}

}  // namespace kinglet
