// Attention over a vector type V (see vector_kernels.h).
#pragma once

#include <cstddef>

#include "kernels/kernels.h"
#include "kernels/vector_math.h"

namespace kinglet {

template <class V>
struct VectorAttention {
  using Float = typename V::Float;
  static constexpr size_t kLanes = V::kLanes;

  static const float* row_at(HeadRows rows, size_t position) {
    return reinterpret_cast<const float*>(rows.data + position * rows.row_stride);
  }

  // scores[p] = scale * query · keys[p] for N positions from `position` on, side by side: one
  // product alone would wait for its own sum.
  template <size_t N>
  static void score(const AttentionHead& head, size_t position) {
    const size_t n_whole = head.head_dim / kLanes * kLanes;
    Float sums[N];
    for (size_t p = 0; p < N; ++p) sums[p] = V::splat(0.0f);
    for (size_t i = 0; i < n_whole; i += kLanes) {
      const Float query = V::load(head.query + i);
      for (size_t p = 0; p < N; ++p) {
        sums[p] = V::fma(query, V::load(row_at(head.keys, position + p) + i), sums[p]);
      }
    }
    for (size_t p = 0; p < N; ++p) {
      float sum = V::horizontal_sum(sums[p]);
      for (size_t i = n_whole; i < head.head_dim; ++i) {
        sum += head.query[i] * row_at(head.keys, position + p)[i];
      }
      head.scores[position + p] = head.scale * sum;
    }
  }

  // N vectors of the output, from element `from` on: they stay in registers over all positions.
  template <size_t N>
  static void weigh_values(const AttentionHead& head, size_t from) {
    Float sums[N];
    for (size_t i = 0; i < N; ++i) sums[i] = V::splat(0.0f);
    for (size_t position = head.first_position; position < head.n_positions; ++position) {
      const float* value = row_at(head.values, position) + from;
      const Float weight = V::splat(head.scores[position]);
      for (size_t i = 0; i < N; ++i) {
        sums[i] = V::fma(weight, V::load(value + i * kLanes), sums[i]);
      }
    }
    for (size_t i = 0; i < N; ++i) V::store(head.output + from + i * kLanes, sums[i]);
  }

  static void attend_f32(const AttentionHead& head) {
    size_t position = head.first_position;
    for (; position + 4 <= head.n_positions; position += 4) score<4>(head, position);
    for (; position < head.n_positions; ++position) score<1>(head, position);

    float* scores = head.scores + head.first_position;
    const size_t n_scores = head.n_positions - head.first_position;
    if (head.softcap > 0) VectorMath<V>::softcap(scores, head.softcap, n_scores);
    VectorMath<V>::softmax(scores, n_scores);

    size_t i = 0;
    for (; i + 4 * kLanes <= head.head_dim; i += 4 * kLanes) weigh_values<4>(head, i);
    for (; i + kLanes <= head.head_dim; i += kLanes) weigh_values<1>(head, i);
    for (; i < head.head_dim; ++i) {
      float sum = 0.0f;
      for (size_t p = head.first_position; p < head.n_positions; ++p) {
        sum += head.scores[p] * row_at(head.values, p)[i];
      }
      head.output[i] = sum;
    }
  }
};

}  // namespace kinglet
