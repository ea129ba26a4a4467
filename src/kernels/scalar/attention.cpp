#include "kernels/scalar/attention.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/exponential.h"

namespace kinglet {
namespace {

// Elements that are converted to floats at a time: whole blocks.
constexpr size_t kScoreChunk = 256;

// Calls f(i, n, elements) for parts of one row, from element `begin` on, as floats.
template <class F>
void for_each_part(KvKind kind, const KvRows& rows, size_t position, size_t begin, size_t head_dim,
                   const F& f) {
  float elements[kScoreChunk];
  for (size_t i = begin; i < head_dim; i += kScoreChunk) {
    const size_t end = std::min(head_dim, i + kScoreChunk);
    const KvKindInfo& info = kv_kind_info(kind);
    info.read_row(rows.codes + position * rows.code_stride,
                  rows.scales + position * rows.scale_stride, i, end, elements);
    if (info.rotates) rotate_blocks(elements, end - i);
    f(i, end - i, elements);
  }
}

template <KvKind kKind>
void score(const Queries& queries, size_t n_rows, const KvRows& keys, size_t n_positions,
           float* scores) {
  for (size_t row = 0; row < n_rows; ++row) {
    const float offset = kv_kind_info(kKind).has_integer_codes ? queries.offsets[row] : 0.0f;
    std::fill_n(scores + row * kAttentionBlock, n_positions, offset);
  }
  add_scores(kKind, queries, n_rows, keys, n_positions, 0, scores);
}

template <KvKind kKind>
void weigh(const float* weights, const float* factors, size_t n_rows, const KvRows& values,
           size_t n_positions, size_t head_dim, float* const* outputs) {
  add_weighted(kKind, weights, factors, n_rows, values, n_positions, 0, head_dim, outputs);
}

template <size_t... kIndexes>
std::array<AttentionKernels, kNKvKinds> make_table(std::index_sequence<kIndexes...>) {
  return {AttentionKernels{score<static_cast<KvKind>(kIndexes)>,
                           weigh<static_cast<KvKind>(kIndexes)>}...};
}

}  // namespace

void add_scores(KvKind kind, const Queries& queries, size_t n_rows, const KvRows& keys,
                size_t n_positions, size_t begin, float* scores) {
  if (begin >= queries.head_dim) return;
  for (size_t p = 0; p < n_positions; ++p) {
    for_each_part(kind, keys, p, begin, queries.head_dim,
                  [&](size_t i, size_t n, const float* key) {
                    for (size_t row = 0; row < n_rows; ++row) {
                      const float* query = queries.values + row * queries.stride + i;
                      float sum = 0.0f;
                      for (size_t j = 0; j < n; ++j) sum += query[j] * key[j];
                      scores[row * kAttentionBlock + p] += sum;
                    }
                  });
  }
}

void add_weighted(KvKind kind, const float* weights, const float* factors, size_t n_rows,
                  const KvRows& values, size_t n_positions, size_t begin, size_t head_dim,
                  float* const* outputs) {
  if (begin >= head_dim) return;
  for (size_t row = 0; row < n_rows; ++row) {
    for (size_t i = begin; i < head_dim; ++i) outputs[row][i] *= factors[row];
  }
  for (size_t p = 0; p < n_positions; ++p) {
    for_each_part(kind, values, p, begin, head_dim, [&](size_t i, size_t n, const float* value) {
      for (size_t row = 0; row < n_rows; ++row) {
        const float weight = weights[row * kAttentionBlock + p];
        for (size_t j = 0; j < n; ++j) outputs[row][i + j] += weight * value[j];
      }
    });
  }
}

float scalar_softmax_part(float* x, size_t n, float& largest, float& sum) {
  const float before = largest;
  largest = std::max(largest, *std::max_element(x, x + n));
  const float factor = exponential::exp(before - largest);
  sum *= factor;
  for (size_t i = 0; i < n; ++i) {
    x[i] = exponential::exp(x[i] - largest);
    sum += x[i];
  }
  return factor;
}

float scalar_quantize_query(const float*, size_t, size_t, KvKind, int16_t*) { return 1.0f; }

std::array<AttentionKernels, kNKvKinds> scalar_attention() {
  return make_table(std::make_index_sequence<kNKvKinds>());
}

}  // namespace kinglet
