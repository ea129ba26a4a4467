// Multiplies rows by matrices, which takes most of the time in layers of every kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "base/arena.h"
#include "base/thread_pool.h"
#include "gguf/header.h"
#include "kernels/kernels.h"
#include "model/linear.h"

namespace kinglet {

// The number of items that a thread takes at a time: a multiple of every kernel's interleave.
constexpr size_t kPartGrain = 32;

// Sees what matrices are multiplied by.
class InputObserver {
 public:
  virtual ~InputObserver() = default;

  // x [n_rows][n_columns]: the rows that `weights`, which has a tensor, will be multiplied by.
  // Called on the thread that runs the step.
  virtual void see(const Linear& weights, const float* x, size_t n_rows) = 0;
};

// Scratch memory for quantized activations, as wide as the widest row that is multiplied.
struct ProjectionScratch {
  std::byte* activations = nullptr;
  // Only for matrices that are multiplied by looking up sums.
  SumTable* tables = nullptr;
  int32_t* negative_sums = nullptr;
  float* bounded = nullptr;  // only for matrices whose input has bounds

  InputObserver* observer = nullptr;  // null: nobody looks

  // Takes memory for n_rows rows of up to `width` numbers, for the matrices of a file.
  static ProjectionScratch take(Arena& arena, const KernelSet& kernels, uint64_t n_rows,
                                uint64_t width, const GgufHeader& header);
};

// y [n_rows][matrix rows] = scale x · matrix^T + bias, within the bounds of the matrix.
struct Projection {
  const Linear* weights;
  float* y;

  size_t n_rows() const { return weights->matrix.n_rows; }
};

// Multiplies rows x [n_rows][n_columns] by every matrix [.][n_columns], as one job that all threads
// share. `scratch` must have room for n_rows rows.
void project_rows(const KernelSet& kernels, ThreadPool& pool, const ProjectionScratch& scratch,
                  const float* x, size_t n_rows, std::initializer_list<Projection> projections);

}  // namespace kinglet
