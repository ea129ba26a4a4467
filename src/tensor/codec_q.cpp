// Decodes Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0: 32 weights with one scale.
#include "tensor/codecs.h"

namespace kinglet {
namespace {

int low_nibble(uint8_t byte) { return byte & 0x0f; }
int high_nibble(uint8_t byte) { return byte >> 4; }

template <class Block>
int low_code(const Block& block, size_t i) {
  return low_nibble(block.codes[i]) | static_cast<int>(block.high_bits >> i & 1u) << 4;
}

template <class Block>
int high_code(const Block& block, size_t i) {
  return high_nibble(block.codes[i]) | static_cast<int>(block.high_bits >> (i + kHalfBlock) & 1u)
                                           << 4;
}

}  // namespace

void decode(const BlockQ4_0& block, float* out) {
  const float scale = to_float(block.scale);
  for (size_t i = 0; i < kHalfBlock; ++i) {
    out[i] = scale * static_cast<float>(low_nibble(block.codes[i]) - 8);
    out[i + kHalfBlock] = scale * static_cast<float>(high_nibble(block.codes[i]) - 8);
  }
}

void decode(const BlockQ4_1& block, float* out) {
  const float scale = to_float(block.scale);
  const float minimum = to_float(block.minimum);
  for (size_t i = 0; i < kHalfBlock; ++i) {
    out[i] = scale * static_cast<float>(low_nibble(block.codes[i])) + minimum;
    out[i + kHalfBlock] = scale * static_cast<float>(high_nibble(block.codes[i])) + minimum;
  }
}

void decode(const BlockQ5_0& block, float* out) {
  const float scale = to_float(block.scale);
  for (size_t i = 0; i < kHalfBlock; ++i) {
    out[i] = scale * static_cast<float>(low_code(block, i) - 16);
    out[i + kHalfBlock] = scale * static_cast<float>(high_code(block, i) - 16);
  }
}

void decode(const BlockQ5_1& block, float* out) {
  const float scale = to_float(block.scale);
  const float minimum = to_float(block.minimum);
  for (size_t i = 0; i < kHalfBlock; ++i) {
    out[i] = scale * static_cast<float>(low_code(block, i)) + minimum;
    out[i + kHalfBlock] = scale * static_cast<float>(high_code(block, i)) + minimum;
  }
}

void decode(const BlockQ8_0& block, float* out) {
  const float scale = to_float(block.scale);
  for (size_t i = 0; i < BlockQ8_0::kSize; ++i) {
    out[i] = scale * static_cast<float>(block.codes[i]);
  }
}

}  // namespace kinglet
