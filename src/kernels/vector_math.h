// Norms, activation functions, softmax and their like over a vector type V (see vector_kernels.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/exponential.h"

namespace kinglet {

template <class V>
struct VectorMath {
  using Float = typename V::Float;
  static constexpr size_t kLanes = V::kLanes;

  // See exponential.h.
  static Float exp(Float x) {
    namespace e = exponential;
    x = V::min(V::max(x, V::splat(e::kMin)), V::splat(e::kMax));
    const Float shifted = V::add(V::mul(x, V::splat(e::kLog2E)), V::splat(e::kRound));
    const Float n = V::sub_float(shifted, V::splat(e::kRound));
    Float r = V::sub_float(x, V::mul(n, V::splat(e::kLn2High)));
    r = V::sub_float(r, V::mul(n, V::splat(e::kLn2Low)));
    Float p = V::splat(e::kCoefficients[0]);
    for (int i = 1; i < 6; ++i) p = V::fma(p, r, V::splat(e::kCoefficients[i]));
    p = V::add(V::fma(V::mul(p, r), r, r), V::splat(1.0f));
    return V::add_exponent(p, shifted);
  }

  static float dot(const float* a, const float* b, size_t n) {
    Float sum = V::splat(0.0f);
    const size_t n_whole = n / kLanes * kLanes;
    for (size_t i = 0; i < n_whole; i += kLanes) sum = V::fma(V::load(a + i), V::load(b + i), sum);
    float result = V::horizontal_sum(sum);
    for (size_t i = n_whole; i < n; ++i) result += a[i] * b[i];
    return result;
  }

  static void rms_norm(const float* x, const float* weight, float epsilon, size_t n, float* out) {
    const float mean = dot(x, x, n) / static_cast<float>(n);
    const float scale = 1.0f / std::sqrt(mean + epsilon);
    const size_t n_whole = n / kLanes * kLanes;
    for (size_t i = 0; i < n_whole; i += kLanes) {
      V::store(out + i, V::mul(V::load(weight + i), V::mul(V::load(x + i), V::splat(scale))));
    }
    for (size_t i = n_whole; i < n; ++i) out[i] = weight[i] * (x[i] * scale);
  }

  static void add(float* x, const float* y, size_t n) {
    const size_t n_whole = n / kLanes * kLanes;
    for (size_t i = 0; i < n_whole; i += kLanes)
      V::store(x + i, V::add(V::load(x + i), V::load(y + i)));
    for (size_t i = n_whole; i < n; ++i) x[i] += y[i];
  }

  static void silu_multiply(float* gate, const float* up, size_t n) {
    const Float one = V::splat(1.0f);
    const size_t n_whole = n / kLanes * kLanes;
    for (size_t i = 0; i < n_whole; i += kLanes) {
      const Float x = V::load(gate + i);
      const Float divisor = V::add(one, exp(V::sub_float(V::splat(0.0f), x)));
      V::store(gate + i, V::mul(V::div(x, divisor), V::load(up + i)));
    }
    for (size_t i = n_whole; i < n; ++i) {
      gate[i] = gate[i] / (1.0f + exponential::exp(-gate[i])) * up[i];
    }
  }

  static void softmax(float* x, size_t n) {
    const size_t n_whole = n / kLanes * kLanes;
    float largest = x[n - 1];
    if (n_whole > 0) {
      Float maxima = V::load(x);
      for (size_t i = kLanes; i < n_whole; i += kLanes) maxima = V::max(maxima, V::load(x + i));
      largest = V::horizontal_max(maxima);
    }
    for (size_t i = n_whole; i < n; ++i) largest = std::max(largest, x[i]);

    Float sums = V::splat(0.0f);
    for (size_t i = 0; i < n_whole; i += kLanes) {
      const Float e = exp(V::sub_float(V::load(x + i), V::splat(largest)));
      V::store(x + i, e);
      sums = V::add(sums, e);
    }
    float sum = V::horizontal_sum(sums);
    for (size_t i = n_whole; i < n; ++i) {
      x[i] = exponential::exp(x[i] - largest);
      sum += x[i];
    }
    const float factor = 1.0f / sum;
    for (size_t i = 0; i < n_whole; i += kLanes) {
      V::store(x + i, V::mul(V::load(x + i), V::splat(factor)));
    }
    for (size_t i = n_whole; i < n; ++i) x[i] *= factor;
  }
};

}  // namespace kinglet
