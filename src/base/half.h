// 16-bit floats. Sources: IEEE 754-2008 binary16; bfloat16 is the upper half of binary32.
#pragma once

#include <cstdint>

#include "base/bit_cast.h"

namespace kinglet {

// The bits of a binary16 in memory. Not an arithmetic type.
struct Half {
  uint16_t bits;
};
static_assert(sizeof(Half) == 2);

// A bfloat16 in memory.
struct BFloat16 {
  uint16_t bits;
};
static_assert(sizeof(BFloat16) == 2);

// Exact for every code, subnormals, infinities and NaN included.
inline float to_float(Half half) {
  const uint32_t sign = static_cast<uint32_t>(half.bits & 0x8000u) << 16;
  const uint32_t magnitude = half.bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return bit_cast<float>(sign | 0x7f800000u | (magnitude << 13));
  // After the shift, the exponent is 112 too small. One exact multiplication corrects this, and
  // turns subnormals into normals.
  return bit_cast<float>(sign | bit_cast<uint32_t>(bit_cast<float>(magnitude << 13) * 0x1p112f));
}

inline float to_float(BFloat16 value) {
  return bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

// Rounds to nearest, ties to even; overflow gives infinity, a NaN stays a (quiet) NaN.
inline Half to_half(float value) {
  const uint32_t bits = bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return {static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu))};
  }
  if (magnitude >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00u)};
  if (magnitude < 0x38800000u) {
    // Below 2^-14, adding 0.5 makes the hardware round, and the low bits of the sum are the code.
    const float shifted = bit_cast<float>(magnitude) + 0.5f;
    return {static_cast<uint16_t>(sign | (bit_cast<uint32_t>(shifted) - 0x3f000000u))};
  }
  const uint32_t rounded = magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u);
  return {static_cast<uint16_t>(sign | (rounded >> 13))};
}

// Rounds to nearest, ties to even; a NaN stays a (quiet) NaN.
inline BFloat16 to_bfloat16(float value) {
  const uint32_t bits = bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>((bits >> 16) | 0x40u)};
  return {static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

}  // namespace kinglet
