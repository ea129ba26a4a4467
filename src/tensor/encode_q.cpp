// Encodes Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0 by the usual rules: the scale is the range of the weights
// divided by the range of the codes. The codes are computed with the scale before it is rounded to
// a binary16. With the importance of weights, it searches for the least squared error.
#include "tensor/codecs.h"
#include "tensor/encoding.h"
#include "tensor/line_search.h"
#include "tensor/scale_search.h"

namespace kinglet {
namespace {

// code[i] = floor(inverse_scale * (in[i] - minimum) + rounding).
template <class Block>
void encode_nibbles(const float* in, float minimum, float inverse_scale, float rounding,
                    Block& block) {
  for (size_t i = 0; i < kHalfBlock; ++i) {
    const unsigned low = to_code((in[i] - minimum) * inverse_scale + rounding, 15.0f);
    const unsigned high = to_code((in[i + kHalfBlock] - minimum) * inverse_scale + rounding, 15.0f);
    block.codes[i] = static_cast<uint8_t>(low | high << 4);
  }
}

template <class Block>
void encode_five_bits(const float* in, float minimum, float inverse_scale, float rounding,
                      Block& block) {
  uint32_t high_bits = 0;
  for (size_t i = 0; i < kHalfBlock; ++i) {
    const unsigned low = to_code((in[i] - minimum) * inverse_scale + rounding, 31.0f);
    const unsigned high = to_code((in[i + kHalfBlock] - minimum) * inverse_scale + rounding, 31.0f);
    block.codes[i] = static_cast<uint8_t>((low & 0x0f) | (high & 0x0f) << 4);
    high_bits |= low >> 4 << i | high >> 4 << (i + kHalfBlock);
  }
  block.high_bits = high_bits;
}

// The magnitudes to which the largest weight is scaled are around kCodes.
template <int kCodes>
struct ScaledCodes : SignedCodes<kCodes> {
  static constexpr float kFirst = kCodes - 0.9f;
  static constexpr float kStep = 0.1f;
  static constexpr int kTries = 19;
};

template <int kCodes>
struct RangeFormat {
  static constexpr size_t kSubBlock = 32;
  static constexpr float kMaxCode = kCodes - 1;
  static constexpr bool kAnyMinimum = true;
};

// Sets the scale and the minimum of a block.
template <int kCodes, class Block>
void fit_range(const float* in, const float* importance, Block& block) {
  const Line line = fit_line<RangeFormat<kCodes>>(in, importance);
  block.scale = to_half(line.scale);
  block.minimum = to_half(-line.minimum);
}

}  // namespace

// Codes run from -8 to 7, so the largest magnitude becomes -8: the scale may be negative.
void encode(const float* in, BlockQ4_0& block) {
  const float scale = extreme(in, BlockQ4_0::kSize) / -8.0f;
  block.scale = to_half(scale);
  encode_nibbles(in, 0.0f, inverse(scale), 8.5f, block);
}

void encode(const float* in, BlockQ4_1& block) {
  const auto [minimum, maximum] = std::minmax_element(in, in + BlockQ4_1::kSize);
  const float scale = (*maximum - *minimum) / 15.0f;
  block.scale = to_half(scale);
  block.minimum = to_half(*minimum);
  encode_nibbles(in, *minimum, inverse(scale), 0.5f, block);
}

void encode(const float* in, BlockQ5_0& block) {
  const float scale = extreme(in, BlockQ5_0::kSize) / -16.0f;
  block.scale = to_half(scale);
  encode_five_bits(in, 0.0f, inverse(scale), 16.5f, block);
}

void encode(const float* in, BlockQ5_1& block) {
  const auto [minimum, maximum] = std::minmax_element(in, in + BlockQ5_1::kSize);
  const float scale = (*maximum - *minimum) / 31.0f;
  block.scale = to_half(scale);
  block.minimum = to_half(*minimum);
  encode_five_bits(in, *minimum, inverse(scale), 0.5f, block);
}

void encode(const float* in, const float* importance, BlockQ4_0& block) {
  block.scale = to_half(fit_scale<ScaledCodes<8>>(in, importance, BlockQ4_0::kSize));
  encode_nibbles(in, 0.0f, inverse(to_float(block.scale)), 8.5f, block);
}

void encode(const float* in, const float* importance, BlockQ4_1& block) {
  fit_range<16>(in, importance, block);
  encode_nibbles(in, to_float(block.minimum), inverse(to_float(block.scale)), 0.5f, block);
}

void encode(const float* in, const float* importance, BlockQ5_0& block) {
  block.scale = to_half(fit_scale<ScaledCodes<16>>(in, importance, BlockQ5_0::kSize));
  encode_five_bits(in, 0.0f, inverse(to_float(block.scale)), 16.5f, block);
}

void encode(const float* in, const float* importance, BlockQ5_1& block) {
  fit_range<32>(in, importance, block);
  encode_five_bits(in, to_float(block.minimum), inverse(to_float(block.scale)), 0.5f, block);
}

void encode(const float* in, BlockQ8_0& block) {
  const float scale = std::fabs(extreme(in, BlockQ8_0::kSize)) / 127.0f;
  const float inverse_scale = inverse(scale);
  block.scale = to_half(scale);
  for (size_t i = 0; i < BlockQ8_0::kSize; ++i) {
    const float code = std::round(in[i] * inverse_scale);
    block.codes[i] = static_cast<int8_t>(std::min(std::max(-127.0f, code), 127.0f));
  }
}

}  // namespace kinglet
