// e^x in single precision. Every kernel set uses the same polynomial, because a generated text must
// not depend on a platform's math library.
//
// x = n ln 2 + r with |r| <= ln 2 / 2, e^x = 2^n e^r. The coefficients are the minimax polynomial
// of Cephes' expf (S. Moshier); the error stays below 2 units in the last place.
#pragma once

#include <cstdint>

#include "base/bit_cast.h"

namespace kinglet::exponential {

constexpr float kMin = -87.0f;  // below, e^x is soon no normal float; the result is e^kMin ≈ 0
constexpr float kMax = 88.0f;
constexpr float kLog2E = 1.44269504f;
constexpr float kLn2High = 0.693359375f;  // few bits: n * kLn2High is exact
constexpr float kLn2Low = -2.12194440e-4f;
constexpr float kCoefficients[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                   4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};

// Adding and then subtracting 1.5 * 2^23 rounds |x| < 2^22 to the nearest integer, ties to even.
// After the addition, the low bits of the float hold the integer.
constexpr float kRound = 12582912.0f;

inline float exp(float x) {
  x = x < kMin ? kMin : x;
  x = x > kMax ? kMax : x;
  const float shifted = x * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = kCoefficients[0];
  for (int i = 1; i < 6; ++i) p = p * r + kCoefficients[i];
  p = p * r * r + r + 1.0f;
  const uint32_t power = bit_cast<uint32_t>(shifted) << 23;
  return bit_cast<float>(bit_cast<uint32_t>(p) + power);
}

inline float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }

// Returns ln(1 + e^x), as max(x, 0) + ln(1 + u) with u = e^-|x|. It uses the series of
// ln(1 + u) = 2 artanh(u / (2 + u)); the argument of artanh is at most 1/3.
inline float softplus(float x) {
  const float u = exp(x < 0 ? x : -x);
  const float s = u / (2.0f + u);
  const float square = s * s;
  float sum = 0.0f;
  for (int i = 15; i >= 1; i -= 2) sum = sum * square + 1.0f / static_cast<float>(i);
  return (x > 0 ? x : 0.0f) + 2.0f * s * sum;
}

// Returns log2(1 + 2^x).
inline float softplus2(float x) {
  constexpr float kLn2 = 0.693147181f;
  return softplus(x * kLn2) * kLog2E;
}

}  // namespace kinglet::exponential
