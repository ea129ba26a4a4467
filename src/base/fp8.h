// 8-bit floats. Source: FP8 Formats for Deep Learning (Micikevicius et al., 2022), in the variants
// of OCP OFP8: E4M3 has no infinities (E4M3FN); E5M2 is the upper byte of a binary16. Both encoders
// saturate, because stored values must stay numbers.
#pragma once

#include <cstdint>

#include "base/bit_cast.h"
#include "base/half.h"

namespace kinglet {

// Sign, 4 bits of exponent (bias 7), 3 of mantissa; finite up to ±448, NaN is 0x7f and 0xff.
struct Fp8E4M3 {
  uint8_t bits;
};
static_assert(sizeof(Fp8E4M3) == 1);

// Sign, 5 bits of exponent (bias 15), 2 of mantissa; finite up to ±57344, then infinity and NaN.
struct Fp8E5M2 {
  uint8_t bits;
};
static_assert(sizeof(Fp8E5M2) == 1);

constexpr float kMaxFp8E4M3 = 448.0f;
constexpr float kMaxFp8E5M2 = 57344.0f;

// Exact for every code, subnormals and NaN included.
inline float to_float(Fp8E4M3 value) {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x80u) << 24;
  const uint32_t magnitude = value.bits & 0x7fu;
  if (magnitude == 0x7fu) return bit_cast<float>(sign | 0x7fc00000u);
  // As for Half: after the shift, the exponent is 120 too small.
  return bit_cast<float>(sign | bit_cast<uint32_t>(bit_cast<float>(magnitude << 20) * 0x1p120f));
}

inline float to_float(Fp8E5M2 value) {
  return to_float(Half{static_cast<uint16_t>(value.bits << 8)});
}

// Returns the bits of `magnitude`, or of `largest` if that is smaller, as an 8-bit float. Rounds to
// nearest, ties to even.
template <uint32_t kMantissaBits, uint32_t kBias>
uint32_t fp8_magnitude(float magnitude, float largest) {
  constexpr uint32_t kDropped = 23 - kMantissaBits;
  constexpr uint32_t kSmallestNormal = (127 - kBias + 1) << 23;
  if (magnitude > largest) magnitude = largest;
  const uint32_t bits = bit_cast<uint32_t>(magnitude);
  if (bits < kSmallestNormal) {
    // This addition makes the hardware round: the last bit of the sum is worth one subnormal step.
    constexpr uint32_t kStepUp = (127 - kBias + 1 + kDropped) << 23;
    return bit_cast<uint32_t>(magnitude + bit_cast<float>(kStepUp)) - kStepUp;
  }
  const uint32_t rebased = bits - ((127 - kBias) << 23);
  return (rebased + (1u << (kDropped - 1)) - 1 + ((rebased >> kDropped) & 1u)) >> kDropped;
}

// Rounds to nearest, ties to even; beyond ±448, infinities included, gives ±448; NaN gives NaN.
inline Fp8E4M3 to_fp8_e4m3(float value) {
  const uint32_t bits = bit_cast<uint32_t>(value);
  if (value != value) return {0x7f};
  const uint32_t code = fp8_magnitude<3, 7>(bit_cast<float>(bits & 0x7fffffffu), kMaxFp8E4M3);
  return {static_cast<uint8_t>((bits >> 24 & 0x80u) | code)};
}

// Rounds to nearest, ties to even; beyond ±57344, infinities included, gives ±57344; NaN gives NaN.
inline Fp8E5M2 to_fp8_e5m2(float value) {
  const uint32_t bits = bit_cast<uint32_t>(value);
  if (value != value) return {0x7e};
  const uint32_t code = fp8_magnitude<2, 15>(bit_cast<float>(bits & 0x7fffffffu), kMaxFp8E5M2);
  return {static_cast<uint8_t>((bits >> 24 & 0x80u) | code)};
}

}  // namespace kinglet
