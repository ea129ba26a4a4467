// Scalar attention, which tests compare the other sets with: it converts every row to floats and
// does not round queries.
#pragma once

#include <array>

#include "kernels/kernels.h"

namespace kinglet {

// See KernelSet. scalar_quantize_query() computes no codes: score() here reads the queries' values.
float scalar_softmax_part(float* x, size_t n, float& largest, float& sum);
float scalar_quantize_query(const float* values, size_t head_dim, size_t stride, KvKind kind,
                            int16_t* codes);
std::array<AttentionKernels, kNKvKinds> scalar_attention();

// Do the part of score() and weigh() for the elements from `begin` on, which vectorized code leaves
// over. For kinds with blocks, `begin` is a multiple of kKvBlock.
void add_scores(KvKind kind, const Queries& queries, size_t n_rows, const KvRows& keys,
                size_t n_positions, size_t begin, float* scores);
void add_weighted(KvKind kind, const float* weights, const float* factors, size_t n_rows,
                  const KvRows& values, size_t n_positions, size_t begin, size_t head_dim,
                  float* const* outputs);

}  // namespace kinglet
