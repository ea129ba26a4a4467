// Functions of single numbers, for the scalar kernels and for the ends of vectorized rows.
#pragma once

#include <cmath>

#include "base/exponential.h"
#include "kernels/kernels.h"

namespace kinglet::element {

constexpr float kGeluCubic = 0.044715f;
constexpr float kGeluScale = 1.5957691216f;  // 2 sqrt(2 / pi)

// 1 / sqrt(x), but NaN instead of 0 for infinity.
inline float inverse_root(float x) { return 1.0f / std::sqrt(x) + 0.0f * x; }

// x / (1 + e^-x).
inline float silu(float x) { return x / (1.0f + exponential::exp(-x)); }

// KernelSet::gelu, with (1 + tanh(u)) / 2 = 1 / (1 + e^-2u).
inline float gelu(float x) {
  const float twice_u = kGeluScale * x * (1.0f + kGeluCubic * x * x);
  return x / (1.0f + exponential::exp(-twice_u));
}

// KernelSet::relu_squared. NaN for -infinity.
inline float relu_squared(float x) {
  const float positive = x > 0.0f ? x : 0.0f;
  return positive * positive + 0.0f * x;
}

// KernelSet::xielu.
inline float xielu(float x, const Xielu& shape) {
  const float line = shape.slope * x;
  if (x > 0.0f) return shape.positive * x * x + line;
  const float power = exponential::exp(x < shape.limit ? x : shape.limit);
  return (power - 1.0f - x) * shape.negative + line;
}

// KernelSet::softcap, with tanh(u) = 1 - 2 / (1 + e^2u).
inline float softcap(float x, float cap) {
  return cap - 2.0f * cap / (1.0f + exponential::exp(2.0f / cap * x)) + 0.0f * x;
}

// Rotates (a, b) by an angle.
inline void rotate(float& a, float& b, float cosine, float sine) {
  const float x = a;
  a = x * cosine - b * sine;
  b = x * sine + b * cosine;
}

}  // namespace kinglet::element
