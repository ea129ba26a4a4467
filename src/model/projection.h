// Rows times matrices: what layers of every kind do most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "base/thread_pool.h"
#include "gguf/header.h"
#include "kernels/kernels.h"
#include "model/arena.h"
#include "model/linear.h"

namespace kinglet {

// Items that a thread takes at a time: a multiple of every kernel's interleave.
constexpr size_t kPartGrain = 32;

// Room for quantized activations, as wide as the widest row that is multiplied.
struct ProjectionScratch {
  std::byte* activations = nullptr;
  // Where a matrix is multiplied by looking sums up.
  SumTable* tables = nullptr;
  int32_t* negative_sums = nullptr;

  // Of n_rows rows of up to `width` numbers; `is_tabulated`: of matrices that look sums up.
  static ProjectionScratch take(Arena& arena, const KernelSet& kernels, uint64_t n_rows,
                                uint64_t width, bool is_tabulated);
};

// Whether a file has matrices that are multiplied by looking sums up.
bool needs_tables(const GgufHeader& header, const KernelSet& kernels);

// y [n_rows][matrix rows] = scale x · matrix^T + bias.
struct Projection {
  const Linear* weights;
  float* y;

  size_t n_rows() const { return weights->matrix.n_rows; }
};

// Multiplies rows x [n_rows][n_columns] with every matrix [.][n_columns], in one go for all
// threads. `scratch` has room for as many rows.
void project_rows(const KernelSet& kernels, ThreadPool& pool, const ProjectionScratch& scratch,
                  const float* x, size_t n_rows, std::initializer_list<Projection> projections);

}  // namespace kinglet
