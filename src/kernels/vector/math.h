// Norms, activation functions, softmax and similar functions over a vector type V (see
// vector/kernels.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "base/bit_cast.h"
#include "base/exponential.h"
#include "kernels/element.h"
#include "kernels/kernels.h"

namespace kinglet {

template <class V>
struct VectorMath {
  using Float = typename V::Float;
  static constexpr size_t kLanes = V::kLanes;
  static constexpr float kHuge = 3e38f;  // multiplied by it twice, any positive float is over 1

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

  // Load and store elements [i, i + kLanes) of a row of n; loads give zeros after its end. Partial
  // vectors are rare: their code is kept out of the loops, and no function needs a second loop for
  // single numbers.
  static Float load(const float* row, size_t i, size_t n) {
    return i + kLanes <= n ? V::load(row + i) : load_end(row + i, n - i);
  }
  static void store(float* row, size_t i, size_t n, Float x) {
    if (i + kLanes <= n) {
      V::store(row + i, x);
    } else {
      store_end(row + i, n - i, x);
    }
  }

  // Returns the largest |x[i]|; not finite if one of them is not. It compares the bits of
  // magnitudes as integers: these have the same order, with infinity and NaN above all numbers.
  static float largest_magnitude(const float* x, size_t n) {
    typename V::Int bits = V::splat_int(0);
    for (size_t i = 0; i < n; i += kLanes) {
      bits = V::max_int(bits, V::as_ints(V::abs(load(x, i, n))));
    }
    return bit_cast<float>(V::horizontal_max_int(bits));
  }

  static float dot(const float* a, const float* b, size_t n) {
    Float sum = V::splat(0.0f);
    for (size_t i = 0; i < n; i += kLanes) sum = V::fma(load(a, i, n), load(b, i, n), sum);
    return V::horizontal_sum(sum);
  }

  static void rms_norm(const float* x, const float* weight, float epsilon, size_t n, float* out) {
    const float mean = dot(x, x, n) / static_cast<float>(n);
    const Float scale = V::splat(element::inverse_root(mean + epsilon));
    for (size_t i = 0; i < n; i += kLanes) {
      store(out, i, n, V::mul(load(weight, i, n), V::mul(load(x, i, n), scale)));
    }
  }

  static void layer_norm(const float* x, const float* weight, const float* bias, float epsilon,
                         size_t n, float* out) {
    Float sums = V::splat(0.0f);
    for (size_t i = 0; i < n; i += kLanes) sums = V::add(sums, load(x, i, n));
    const Float mean = V::splat(V::horizontal_sum(sums) / static_cast<float>(n));
    for (size_t i = 0; i < n; i += kLanes) store(out, i, n, V::sub_float(load(x, i, n), mean));
    rms_norm(out, weight, epsilon, n, out);
    if (bias != nullptr) add_scaled(out, bias, 1.0f, n);
  }

  static void add_scaled(float* x, const float* y, float factor, size_t n) {
    for (size_t i = 0; i < n; i += kLanes) {
      store(x, i, n, V::fma(V::splat(factor), load(y, i, n), load(x, i, n)));
    }
  }

  static void multiply(float* x, const float* y, size_t n) {
    for (size_t i = 0; i < n; i += kLanes) {
      store(x, i, n, V::mul(load(x, i, n), load(y, i, n)));
    }
  }

  // x / (1 + e^-y).
  static Float times_sigmoid(Float x, Float y) {
    return V::div(x, V::add(V::splat(1.0f), exp(V::sub_float(V::splat(0.0f), y))));
  }

  // See element.h.
  static Float gelu(Float x) {
    const Float square = V::mul(x, x);
    const Float series = V::fma(V::splat(element::kGeluCubic), square, V::splat(1.0f));
    return times_sigmoid(x, V::mul(V::mul(V::splat(element::kGeluScale), x), series));
  }

  static void silu(float* x, size_t n) {
    for (size_t i = 0; i < n; i += kLanes) {
      const Float value = load(x, i, n);
      store(x, i, n, times_sigmoid(value, value));
    }
  }

  static void sigmoid_multiply(float* x, const float* gate, size_t n) {
    for (size_t i = 0; i < n; i += kLanes) {
      store(x, i, n, times_sigmoid(load(x, i, n), load(gate, i, n)));
    }
  }

  static void silu_multiply(float* gate, const float* up, size_t n) {
    for (size_t i = 0; i < n; i += kLanes) {
      const Float x = load(gate, i, n);
      store(gate, i, n, V::mul(times_sigmoid(x, x), load(up, i, n)));
    }
  }

  static void gelu_multiply(float* gate, const float* up, size_t n) {
    for (size_t i = 0; i < n; i += kLanes) {
      store(gate, i, n, V::mul(gelu(load(gate, i, n)), load(up, i, n)));
    }
  }

  static void gelu(float* x, size_t n) {
    for (size_t i = 0; i < n; i += kLanes) store(x, i, n, gelu(load(x, i, n)));
  }

  static void relu_squared(float* x, size_t n) {
    for (size_t i = 0; i < n; i += kLanes) {
      const Float value = load(x, i, n);
      const Float positive = V::max(value, V::splat(0.0f));
      const Float odd = V::mul(value, V::splat(0.0f));
      store(x, i, n, V::fma(positive, positive, odd));
    }
  }

  // Adds the term for positive numbers and the term for other numbers; one of them is 0. For the
  // latter to be 0 for a positive number, the curve's value at the limit is subtracted.
  static void xielu(float* x, const Xielu& shape, size_t n) {
    const float at_limit = exponential::exp(std::min(shape.limit, 0.0f)) - 1.0f;
    for (size_t i = 0; i < n; i += kLanes) {
      const Float value = load(x, i, n);
      const Float positive = V::max(value, V::splat(0.0f));
      const Float negative = V::min(value, V::splat(0.0f));
      const Float grown = V::mul(V::mul(positive, V::splat(kHuge)), V::splat(kHuge));
      const Float is_positive = V::min(grown, V::splat(1.0f));
      const Float power = exp(V::min(negative, V::splat(shape.limit)));
      Float curve = V::sub_float(V::sub_float(power, V::splat(1.0f)), negative);
      curve = V::sub_float(curve, V::mul(is_positive, V::splat(at_limit)));
      const Float square = V::mul(V::mul(V::splat(shape.positive), positive), positive);
      const Float line = V::mul(V::splat(shape.slope), value);
      store(x, i, n, V::add(V::fma(curve, V::splat(shape.negative), square), line));
    }
  }

  static void softcap(float* x, float cap, size_t n) {
    for (size_t i = 0; i < n; i += kLanes) {
      const Float power = exp(V::mul(V::splat(2.0f / cap), load(x, i, n)));
      const Float rest = V::div(V::splat(2.0f * cap), V::add(V::splat(1.0f), power));
      const Float odd = V::mul(load(x, i, n), V::splat(0.0f));
      store(x, i, n, V::add(V::sub_float(V::splat(cap), rest), odd));
    }
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
    for (size_t i = 0; i < n_pairs; i += kLanes) {
      const Float a = load(x, i, n_pairs);
      const Float b = load(y, i, n_pairs);
      const Float cosine = load(cosines, i, n_pairs);
      const Float sine = load(sines, i, n_pairs);
      store(x, i, n_pairs, V::sub_float(V::mul(a, cosine), V::mul(b, sine)));
      store(y, i, n_pairs, V::fma(a, sine, V::mul(b, cosine)));
    }
  }

  static float softmax_part(float* x, size_t n, float& largest, float& sum) {
    const size_t n_whole = n / kLanes * kLanes;
    const float before = largest;
    if (n_whole > 0) {
      Float maxima = V::load(x);
      for (size_t i = kLanes; i < n_whole; i += kLanes) maxima = V::max(maxima, V::load(x + i));
      largest = std::max(largest, V::horizontal_max(maxima));
    }
    for (size_t i = n_whole; i < n; ++i) largest = std::max(largest, x[i]);

    const float factor = exponential::exp(before - largest);
    sum *= factor;
    Float sums = V::splat(0.0f);
    for (size_t i = 0; i < n_whole; i += kLanes) {
      const Float e = exp(V::sub_float(V::load(x + i), V::splat(largest)));
      V::store(x + i, e);
      sums = V::add(sums, e);
    }
    sum += V::horizontal_sum(sums);
    for (size_t i = n_whole; i < n; ++i) {
      x[i] = exponential::exp(x[i] - largest);
      sum += x[i];
    }
    return factor;
  }

  // The last vector may overlap the one before it.
  static float largest(const float* x, size_t n) {
    if (n < kLanes) return scalar_kernels().largest(x, n);
    Float most = V::load(x);
    Float odd = V::splat(0.0f);  // 0 times a number that is not finite is NaN
    for (size_t i = 0; i < n; i += kLanes) {
      const Float part = V::load(x + std::min(i, n - kLanes));
      most = V::max(most, part);
      odd = V::fma(part, V::splat(0.0f), odd);
    }
    return V::horizontal_max(most) + V::horizontal_sum(odd);
  }

 private:
  [[gnu::noinline]] static Float load_end(const float* row, size_t n) {
    float whole[kLanes] = {};
    std::memcpy(whole, row, n * sizeof(float));
    return V::load(whole);
  }
  [[gnu::noinline]] static void store_end(float* row, size_t n, Float x) {
    float whole[kLanes];
    V::store(whole, x);
    std::memcpy(row, whole, n * sizeof(float));
  }
};

}  // namespace kinglet
