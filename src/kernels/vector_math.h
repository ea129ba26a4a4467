// Norms, activation functions, softmax and their like over a vector type V (see vector_kernels.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/exponential.h"
#include "kernels/element.h"

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

  static void layer_norm(const float* x, const float* weight, const float* bias, float epsilon,
                         size_t n, float* out) {
    const size_t n_whole = n / kLanes * kLanes;
    Float sums = V::splat(0.0f);
    for (size_t i = 0; i < n_whole; i += kLanes) sums = V::add(sums, V::load(x + i));
    float sum = V::horizontal_sum(sums);
    for (size_t i = n_whole; i < n; ++i) sum += x[i];
    const float mean = sum / static_cast<float>(n);
    for (size_t i = 0; i < n_whole; i += kLanes) {
      V::store(out + i, V::sub_float(V::load(x + i), V::splat(mean)));
    }
    for (size_t i = n_whole; i < n; ++i) out[i] = x[i] - mean;
    rms_norm(out, weight, epsilon, n, out);
    if (bias != nullptr) add_scaled(out, bias, 1.0f, n);
  }

  static void add_scaled(float* x, const float* y, float factor, size_t n) {
    const size_t n_whole = n / kLanes * kLanes;
    for (size_t i = 0; i < n_whole; i += kLanes) {
      V::store(x + i, V::fma(V::splat(factor), V::load(y + i), V::load(x + i)));
    }
    for (size_t i = n_whole; i < n; ++i) x[i] += factor * y[i];
  }

  // x / (1 + e^-y)
  static Float times_sigmoid(Float x, Float y) {
    return V::div(x, V::add(V::splat(1.0f), exp(V::sub_float(V::splat(0.0f), y))));
  }

  // See element.h.
  static Float gelu(Float x) {
    const Float square = V::mul(x, x);
    const Float series = V::fma(V::splat(element::kGeluCubic), square, V::splat(1.0f));
    return times_sigmoid(x, V::mul(V::mul(V::splat(element::kGeluScale), x), series));
  }

  static void silu_multiply(float* gate, const float* up, size_t n) {
    const size_t n_whole = n / kLanes * kLanes;
    for (size_t i = 0; i < n_whole; i += kLanes) {
      const Float x = V::load(gate + i);
      V::store(gate + i, V::mul(times_sigmoid(x, x), V::load(up + i)));
    }
    for (size_t i = n_whole; i < n; ++i) gate[i] = element::silu(gate[i]) * up[i];
  }

  static void gelu_multiply(float* gate, const float* up, size_t n) {
    const size_t n_whole = n / kLanes * kLanes;
    for (size_t i = 0; i < n_whole; i += kLanes) {
      V::store(gate + i, V::mul(gelu(V::load(gate + i)), V::load(up + i)));
    }
    for (size_t i = n_whole; i < n; ++i) gate[i] = element::gelu(gate[i]) * up[i];
  }

  static void gelu(float* x, size_t n) {
    const size_t n_whole = n / kLanes * kLanes;
    for (size_t i = 0; i < n_whole; i += kLanes) V::store(x + i, gelu(V::load(x + i)));
    for (size_t i = n_whole; i < n; ++i) x[i] = element::gelu(x[i]);
  }

  static void softcap(float* x, float cap, size_t n) {
    const size_t n_whole = n / kLanes * kLanes;
    for (size_t i = 0; i < n_whole; i += kLanes) {
      const Float power = exp(V::mul(V::splat(2.0f / cap), V::load(x + i)));
      const Float rest = V::div(V::splat(2.0f * cap), V::add(V::splat(1.0f), power));
      V::store(x + i, V::sub_float(V::splat(cap), rest));
    }
    for (size_t i = n_whole; i < n; ++i) x[i] = element::softcap(x[i], cap);
  }

  static void rope_interleaved(float* x, const float* cosines, const float* sines, size_t n_pairs) {
    // (a, b) becomes (a, b) * (c, c) + (b, a) * (-s, s).
    static constexpr float kSigns[] = {-1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1};
    const Float signs = V::load(kSigns);
    const size_t n_whole = 2 * n_pairs / kLanes * kLanes;
    for (size_t i = 0; i < n_whole; i += kLanes) {
      const Float pairs = V::load(x + i);
      const Float sine = V::mul(V::load_twice(sines + i / 2), signs);
      const Float turned = V::mul(V::swap_neighbours(pairs), sine);
      V::store(x + i, V::fma(pairs, V::load_twice(cosines + i / 2), turned));
    }
    for (size_t i = n_whole / 2; i < n_pairs; ++i) {
      element::rotate(x[2 * i], x[2 * i + 1], cosines[i], sines[i]);
    }
  }

  static void rope_halves(float* x, const float* cosines, const float* sines, size_t n_pairs) {
    float* y = x + n_pairs;
    const size_t n_whole = n_pairs / kLanes * kLanes;
    for (size_t i = 0; i < n_whole; i += kLanes) {
      const Float a = V::load(x + i);
      const Float b = V::load(y + i);
      const Float cosine = V::load(cosines + i);
      const Float sine = V::load(sines + i);
      V::store(x + i, V::sub_float(V::mul(a, cosine), V::mul(b, sine)));
      V::store(y + i, V::fma(a, sine, V::mul(b, cosine)));
    }
    for (size_t i = n_whole; i < n_pairs; ++i) element::rotate(x[i], y[i], cosines[i], sines[i]);
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
