// Checks and packs the matrices of a file that is still arriving: the parts that have arrived, on
// any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "gguf/file.h"
#include "kernels/kernels.h"
#include "tensor/tensor.h"

namespace kinglet {

class EarlyWeights {
 public:
  // Rows [begin, end) of a matrix, which one thread packs at a time.
  struct Part {
    size_t matrix;
    size_t begin;
    size_t end;
    std::optional<size_t> bad_block;  // of the matrix's tensor, not finite; set by run()
  };

  // Plans the matrices that take_weights() will pack. `file` must have its header and room for its
  // data. If the header is not that of a model, nothing is planned, and loading reports the error.
  static EarlyWeights plan(GgufFile& file, const KernelSet& kernels);

  // Bytes that each thread needs for run().
  size_t room_bytes() const { return room_bytes_; }

  // Returns the parts that are in `arrived`, the beginning of the file's data, and were not
  // returned before. If these have fewer than `bytes` bytes in all, returns none, unless they are
  // the last ones.
  std::vector<Part> next_parts(std::span<const std::byte> arrived, size_t bytes);

  // Checks and packs a part that has arrived. Different parts can run at the same time.
  void run(Part& part, std::byte* room) const;

  // Records the bad block that run() has found.
  void note(const Part& part);

  // Adds a matrix of `tensor` to the plan, during plan().
  void add(const TensorView& tensor, const PackedMatrix& matrix);
  bool is_planning() const { return is_planning_; }

  // Whether the matrices of this tensor were packed early; and the first of its blocks that
  // contains NaN or infinity.
  bool has(const TensorView& tensor) const;
  std::optional<size_t> find_not_finite(const TensorView& tensor) const;

 private:
  struct Matrix {
    PackedMatrix form;
    const std::byte* tensor;          // the first byte of the matrix's tensor
    std::optional<size_t> bad_block;  // of the tensor
  };

  size_t row_bytes(const Matrix& matrix) const;
  // The first matrix that begins at this byte or after it.
  std::vector<Matrix>::const_iterator first_at(const std::byte* data) const;

  std::vector<Matrix> matrices_;  // in the order of the file
  size_t room_bytes_ = 0;
  bool is_planning_ = false;
  size_t next_matrix_ = 0;
  size_t next_row_ = 0;
};

}  // namespace kinglet
