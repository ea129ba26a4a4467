// The oracle of attention: every row is restored to floats, and queries stay unrounded.
#pragma once

#include <array>

#include "kernels/kernels.h"

namespace kinglet {

// See KernelSet. No codes are made: score() here takes the queries' values.
float scalar_softmax_part(float* x, size_t n, float& largest, float& sum);
float scalar_quantize_query(const float* values, size_t head_dim, size_t stride, KvKind kind,
                            int16_t* codes);
std::array<AttentionKernels, kNKvKinds> scalar_attention();

// The part of score() and weigh() that is due to the elements from `begin` on, a multiple of
// kKvBlock for kinds of blocks: what vectors leave over.
void add_scores(KvKind kind, const Queries& queries, size_t n_rows, const KvRows& keys,
                size_t n_positions, size_t begin, float* scores);
void add_weighted(KvKind kind, const float* weights, const float* factors, size_t n_rows,
                  const KvRows& values, size_t n_positions, size_t begin, size_t head_dim,
                  float* const* outputs);

}  // namespace kinglet
