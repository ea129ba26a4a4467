// The kernels of recurrent layers over a vector type V (see vector_type.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "kernels/kernels.h"
#include "kernels/vector/math.h"

namespace kinglet {

template <class V>
struct VectorRecurrent {
  using Float = typename V::Float;
  using Math = VectorMath<V>;
  static constexpr size_t kLanes = V::kLanes;
  // Rows of a state that are processed together: their sums do not wait for each other.
  static constexpr size_t kRows = 4;
  // Tokens per chunk: their keys and queries fit into the first-level cache beside those rows. They
  // take 16 KB if heads are 128 wide.
  static constexpr size_t kChunk = 16;

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
    run(head, head.n_values, head.n_keys,
        [&](auto rows, auto&&... place) { delta_rows<rows>(head, place...); });
  }

  static void state_space(const StateSpace& head) {
    run(head, head.n_channels, head.n_states,
        [&](auto rows, auto&&... place) { state_rows<rows>(head, place...); });
  }

 private:
  // Calls f(R, t, row, from, to) for R rows of a state [n_rows][n_columns] and each token t. All
  // tokens of a chunk are processed for some rows before the next rows.
  template <class Head, class F>
  static void run(const Head& head, size_t n_rows, size_t n_columns, const F& f) {
    for (size_t first = 0; first < head.n_tokens; first += kChunk) {
      const size_t last = std::min(first + kChunk, head.n_tokens);
      const auto through_chunk = [&](auto rows, size_t row) {
        float* to = head.to + row * n_columns;
        const float* from = first == 0 ? head.from + row * n_columns : to;
        for (size_t t = first; t < last; ++t, from = to) f(rows, t, row, from, to);
      };
      size_t row = 0;
      for (; row + kRows <= n_rows; row += kRows) {
        through_chunk(std::integral_constant<size_t, kRows>(), row);
      }
      for (; row < n_rows; ++row) through_chunk(std::integral_constant<size_t, 1>(), row);
    }
  }

  template <size_t R>
  static void delta_rows(const DeltaRule& head, size_t t, size_t first, const float* from,
                         float* to) {
    const size_t n = head.n_keys;
    const float* keys = head.key + t * head.row_stride;
    const float* queries = head.query + t * head.row_stride;
    const float* values = head.value + t * head.row_stride + first;
    const float strength = head.strength[t * head.gate_stride];
    const float factor = head.decay[t * head.gate_stride];
    Float sums[R];
    for (size_t r = 0; r < R; ++r) sums[r] = V::splat(0.0f);
    for (size_t i = 0; i < n; i += kLanes) {
      const Float key = Math::load(keys, i, n);
      for (size_t r = 0; r < R; ++r) sums[r] = V::fma(Math::load(from + r * n, i, n), key, sums[r]);
    }
    Float corrections[R];
    for (size_t r = 0; r < R; ++r) {
      const float known = V::horizontal_sum(sums[r]);
      corrections[r] = V::splat(strength * (values[r] - factor * known));
      sums[r] = V::splat(0.0f);
    }
    const Float decay = V::splat(factor);
    for (size_t i = 0; i < n; i += kLanes) {
      const Float key = Math::load(keys, i, n);
      const Float query = Math::load(queries, i, n);
      for (size_t r = 0; r < R; ++r) {
        const Float kept = V::mul(decay, Math::load(from + r * n, i, n));
        const Float state = V::fma(corrections[r], key, kept);
        Math::store(to + r * n, i, n, state);
        sums[r] = V::fma(state, query, sums[r]);
      }
    }
    float* output = head.output + t * head.output_stride + first;
    for (size_t r = 0; r < R; ++r) output[r] = V::horizontal_sum(sums[r]);
  }

  template <size_t R>
  static void state_rows(const StateSpace& head, size_t t, size_t first, const float* from,
                         float* to) {
    const size_t n = head.n_states;
    const float* inputs = head.input + t * head.row_stride;
    const float* readouts = head.readout + t * head.row_stride;
    const float* x = head.x + t * head.row_stride + first;
    const float step = head.step[t * head.gate_stride];
    Float added[R];
    Float sums[R];
    for (size_t r = 0; r < R; ++r) {
      added[r] = V::splat(step * x[r]);
      sums[r] = V::splat(0.0f);
    }
    const Float decay = V::splat(head.decay[t * head.gate_stride]);
    for (size_t i = 0; i < n; i += kLanes) {
      const Float input = Math::load(inputs, i, n);
      const Float readout = Math::load(readouts, i, n);
      for (size_t r = 0; r < R; ++r) {
        const Float kept = V::mul(decay, Math::load(from + r * n, i, n));
        const Float state = V::fma(added[r], input, kept);
        Math::store(to + r * n, i, n, state);
        sums[r] = V::fma(state, readout, sums[r]);
      }
    }
    float* output = head.output + t * head.output_stride + first;
    for (size_t r = 0; r < R; ++r) output[r] = V::horizontal_sum(sums[r]) + head.skip * x[r];
  }
};

}  // namespace kinglet
