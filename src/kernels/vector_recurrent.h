// The kernels of recurrent layers over a vector type V (see vector_kernels.h).
#pragma once

#include <cstddef>

#include "kernels/kernels.h"
#include "kernels/vector_math.h"

namespace kinglet {

template <class V>
struct VectorRecurrent {
  using Float = typename V::Float;
  using Math = VectorMath<V>;
  static constexpr size_t kLanes = V::kLanes;
  // Rows of a state that are worked on together: their sums do not wait for each other.
  static constexpr size_t kRows = 4;

  static void convolve(const float* const* rows, const float* taps, const float* bias, size_t width,
                       size_t n, float* out) {
    for (size_t i = 0; i < n; i += kLanes) {
      Float sum = bias == nullptr ? V::splat(0.0f) : Math::load(bias, i, n);
      for (size_t j = 0; j < width; ++j) {
        sum = V::fma(Math::load(taps + j * n, i, n), Math::load(rows[j], i, n), sum);
      }
      Math::store(out, i, n, sum);
    }
  }

  static void delta_rule(const DeltaRule& head) {
    size_t v = 0;
    for (; v + kRows <= head.n_values; v += kRows) delta_rows<kRows>(head, v);
    for (; v < head.n_values; ++v) delta_rows<1>(head, v);
  }

  static void state_space(const StateSpace& head) {
    size_t c = 0;
    for (; c + kRows <= head.n_channels; c += kRows) state_rows<kRows>(head, c);
    for (; c < head.n_channels; ++c) state_rows<1>(head, c);
  }

 private:
  template <size_t R>
  static void delta_rows(const DeltaRule& head, size_t first) {
    const size_t n = head.n_keys;
    const float* from = head.from + first * n;
    float* to = head.to + first * n;
    Float sums[R];
    for (size_t r = 0; r < R; ++r) sums[r] = V::splat(0.0f);
    for (size_t i = 0; i < n; i += kLanes) {
      const Float key = Math::load(head.key, i, n);
      for (size_t r = 0; r < R; ++r) sums[r] = V::fma(Math::load(from + r * n, i, n), key, sums[r]);
    }
    Float corrections[R];
    for (size_t r = 0; r < R; ++r) {
      const float known = V::horizontal_sum(sums[r]);
      corrections[r] = V::splat(head.strength * (head.value[first + r] - head.decay * known));
      sums[r] = V::splat(0.0f);
    }
    const Float decay = V::splat(head.decay);
    for (size_t i = 0; i < n; i += kLanes) {
      const Float key = Math::load(head.key, i, n);
      const Float query = Math::load(head.query, i, n);
      for (size_t r = 0; r < R; ++r) {
        const Float kept = V::mul(decay, Math::load(from + r * n, i, n));
        const Float state = V::fma(corrections[r], key, kept);
        Math::store(to + r * n, i, n, state);
        sums[r] = V::fma(state, query, sums[r]);
      }
    }
    for (size_t r = 0; r < R; ++r) head.output[first + r] = V::horizontal_sum(sums[r]);
  }

  template <size_t R>
  static void state_rows(const StateSpace& head, size_t first) {
    const size_t n = head.n_states;
    const float* from = head.from + first * n;
    float* to = head.to + first * n;
    const float* x = head.x + first;
    Float inputs[R];
    Float sums[R];
    for (size_t r = 0; r < R; ++r) {
      inputs[r] = V::splat(head.step * x[r]);
      sums[r] = V::splat(0.0f);
    }
    const Float decay = V::splat(head.decay);
    for (size_t i = 0; i < n; i += kLanes) {
      const Float input = Math::load(head.input, i, n);
      const Float readout = Math::load(head.readout, i, n);
      for (size_t r = 0; r < R; ++r) {
        const Float kept = V::mul(decay, Math::load(from + r * n, i, n));
        const Float state = V::fma(inputs[r], input, kept);
        Math::store(to + r * n, i, n, state);
        sums[r] = V::fma(state, readout, sums[r]);
      }
    }
    for (size_t r = 0; r < R; ++r) {
      head.output[first + r] = V::horizontal_sum(sums[r]) + head.skip * x[r];
    }
  }
};

}  // namespace kinglet
