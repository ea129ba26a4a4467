// Sine and cosine of an angle, the same on every platform, because a generated text must not depend
// on a platform's math library. The code is also a twentieth of the C library's, which handles
// angles of any size.
#pragma once

#include <algorithm>
#include <cmath>

namespace kinglet {

struct SinCos {
  double sin;
  double cos;
};

// The results are within 1e-10 for |angle| < 1.6e6 radians, the rotation of position 1,600,000.
//
// angle = n pi/2 + r with |r| <= pi/4: Taylor's series of r, rotated by n quarter turns.
inline SinCos sin_cos(double angle) {
  constexpr double kHalfPiHigh = 0x1.921fb544p+0;  // 33 bits: n * kHalfPiHigh is exact to n = 2^20
  constexpr double kHalfPiLow = 0x1.0b4611a626331p-34;
  constexpr double kQuarterPi = 0x1.921fb54442d18p-1;
  const double n = std::floor(angle * (0.5 / kQuarterPi) + 0.5);
  // The bounds keep the results finite for angles that are too large (from a broken file).
  const double r = std::clamp(angle - n * kHalfPiHigh - n * kHalfPiLow, -kQuarterPi, kQuarterPi);
  const double rr = r * r;
  double sin = 1;
  double cos = 1 - rr / (11 * 12);
  for (int i = 10; i > 0; i -= 2) {
    sin = 1 - rr / (i * (i + 1)) * sin;
    cos = 1 - rr / (i * (i - 1)) * cos;
  }
  sin *= r;
  const double quarter = n - 4 * std::floor(n * 0.25);
  if (quarter == 1) return {cos, -sin};
  if (quarter == 2) return {-sin, -cos};
  if (quarter == 3) return {-cos, sin};
  return {sin, cos};
}

}  // namespace kinglet
