// Encodes IQ4_NL and IQ4_XS with a search for the least squared error, and MXFP4 and NVFP4 by the
// rules of ggml.
#include <array>

#include "base/bit_cast.h"
#include "tensor/codecs.h"
#include "tensor/encoding.h"
#include "tensor/scale_search.h"

namespace kinglet {
namespace {

// A table of the index of the nearest of kIq4Values, in steps of 1/2: entry i is for x from
// (i - kIq4Offset) / 2 up to the next step. This is exact: the boundary between two values is
// always at such a step.
constexpr int kIq4Offset = 254;
constexpr size_t kIq4Halves = 254 + 2 * 113 + 1;

constexpr std::array<uint8_t, kIq4Halves> nearest_iq4_table() {
  std::array<uint8_t, kIq4Halves> table{};
  uint8_t nearest = 0;
  for (size_t i = 0; i < kIq4Halves; ++i) {
    const int twice = static_cast<int>(i) - kIq4Offset;
    while (nearest < 15 && twice >= kIq4Values[nearest] + kIq4Values[nearest + 1]) ++nearest;
    table[i] = nearest;
  }
  return table;
}

constexpr std::array<uint8_t, kIq4Halves> kNearestIq4 = nearest_iq4_table();

// Returns the index of the nearest of kIq4Values; 0 for a NaN.
uint8_t nearest_iq4(float x) {
  const float half = std::min(std::max(0.0f, 2.0f * x + kIq4Offset), float{kIq4Halves - 1});
  return kNearestIq4[static_cast<size_t>(half)];
}

struct Iq4Codes {
  static float nearest(float x) { return kIq4Values[nearest_iq4(x)]; }
  static constexpr float kFirst = 101.0f;  // the ends of kIq4Values are -127 and 113
  static constexpr float kStep = 2.0f;
  static constexpr int kTries = 19;
  static constexpr int kUnitRounds = 3;
};

// Packs 32 weights into 16 bytes.
void pack_iq4(const float* in, float scale, uint8_t* codes) {
  const float inverse_scale = inverse(scale);
  for (size_t i = 0; i < 16; ++i) {
    codes[i] = static_cast<uint8_t>(nearest_iq4(in[i] * inverse_scale) |
                                    nearest_iq4(in[i + 16] * inverse_scale) << 4);
  }
}

// Returns the index of the nearest of kMxfp4Values. Of two equally near ones, it takes the one of
// smaller magnitude; of the two zeros, the first.
unsigned nearest_mxfp4(float x, float scale) {
  const float magnitude = std::fabs(x);
  unsigned best = 0;
  float best_error = magnitude;
  for (unsigned i = 1; i < 8; ++i) {
    const float error = std::fabs(scale * kMxfp4Values[i] - magnitude);
    if (error < best_error) {
      best = i;
      best_error = error;
    }
  }
  return x < 0.0f && best > 0 ? best + 8 : best;
}

// Returns the code of an E4M3 float near x; halves round up. As in ggml, what rounds to 256 or more
// becomes the largest float, 448.
uint8_t to_e4m3(float x) {
  constexpr uint8_t kLargest = 0x7e;
  constexpr float kSmallestNormal = 0x1p-6f;
  if (!(x > 0.0f)) return 0;
  if (x < kSmallestNormal) return to_code(x * 512.0f + 0.5f, 7.0f);
  if (x >= 256.0f) return kLargest;
  // Exponent and three bits of fraction. The bias of E4M3's exponent is smaller by 120.
  const uint32_t code = ((bit_cast<uint32_t>(x) + (1u << 19)) >> 20) - (120u << 3);
  return code >= 15u << 3 ? kLargest : static_cast<uint8_t>(code);
}

}  // namespace

void encode(const float* in, const float* importance, BlockIQ4_NL& block) {
  block.scale = to_half(fit_scale<Iq4Codes>(in, importance, BlockIQ4_NL::kSize));
  pack_iq4(in, to_float(block.scale), block.codes);
}

void encode(const float* in, const float* importance, BlockIQ4_XS& block) {
  ScaledBlock<Iq4Codes, 8, 32, 32> scaled;
  scaled.fit(in, importance);
  block.scale = scaled.unit;
  block.scale_pairs = 0;
  std::fill_n(block.scale_nibbles, sizeof block.scale_nibbles, uint8_t{0});
  for (size_t i = 0; i < 8; ++i) {
    const int bits = scaled.scales[i] + 32;
    uint8_t& nibbles = block.scale_nibbles[i / 2];
    nibbles = static_cast<uint8_t>(nibbles | (bits & 0x0f) << (i % 2 * 4));
    block.scale_pairs = static_cast<uint16_t>(block.scale_pairs | bits >> 4 << (2 * i));
    pack_iq4(in + 32 * i, scaled.scale(i), block.nibbles + 16 * i);
  }
}

// The scale is the power of two at which the largest weight is 4 to 8; values go up to 6.
void encode(const float* in, BlockMXFP4& block) {
  const float largest = std::fabs(extreme(in, BlockMXFP4::kSize));
  const int power = std::clamp(std::ilogb(largest), -125, 129);  // 0 and infinity are clamped
  block.exponent = static_cast<uint8_t>(power - 2 + 127);
  const float scale = block.scale();
  for (size_t i = 0; i < 16; ++i) {
    block.codes[i] =
        static_cast<uint8_t>(nearest_mxfp4(in[i], scale) | nearest_mxfp4(in[i + 16], scale) << 4);
  }
}

// The scale is the one at which the largest weight becomes 6, the largest value.
void encode(const float* in, BlockNVFP4& block) {
  for (size_t sub_block = 0; sub_block < BlockNVFP4::kSize / 16; ++sub_block, in += 16) {
    block.scales[sub_block] = to_e4m3(std::fabs(extreme(in, 16)) / 6.0f);
    const float scale = block.scale(sub_block);
    for (size_t i = 0; i < 8; ++i) {
      block.nibbles[8 * sub_block + i] =
          static_cast<uint8_t>(nearest_mxfp4(in[i], scale) | nearest_mxfp4(in[i + 8], scale) << 4);
    }
  }
}

}  // namespace kinglet
