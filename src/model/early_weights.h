// The matrices of a file that is still arriving: those parts that are there can be checked and
// packed, on any thread, before the rest has come.
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
    std::optional<size_t> bad_block;  // of its tensor, set by run()
  };

  // Plans what take_weights() will ask for: `file` has its header and room for its data. Nothing is
  // planned where the header is no model's, which loading then says.
  static EarlyWeights plan(GgufFile& file, const KernelSet& kernels);

  // What each thread needs for run().
  size_t room_bytes() const { return room_bytes_; }

  // The parts that lie in `arrived`, the front of the file's data, and have not been given before.
  // `bytes` of them at least, or else none, unless that is all there will be.
  std::vector<Part> next_parts(std::span<const std::byte> arrived, size_t bytes);

  // Checks and packs a part that is there. Different parts can run at the same time.
  void run(Part& part, std::byte* room) const;

  // Keeps what run() has found.
  void note(const Part& part);

  // While it is planned: `tensor` has a matrix.
  void add(const TensorView& tensor, const PackedMatrix& matrix);
  bool is_planning() const { return is_planning_; }

  // Whether the matrices of this tensor were packed early, and the first of its blocks that is not
  // finite.
  bool has(const TensorView& tensor) const;
  std::optional<size_t> find_not_finite(const TensorView& tensor) const;

 private:
  struct Matrix {
    PackedMatrix form;
    const std::byte* tensor;          // where the tensor begins that it is of
    std::optional<size_t> bad_block;  // of the tensor
  };

  size_t row_bytes(const Matrix& matrix) const;
  // The first matrix at or after this byte.
  std::vector<Matrix>::const_iterator first_at(const std::byte* data) const;

  std::vector<Matrix> matrices_;  // in the order of the file
  size_t room_bytes_ = 0;
  bool is_planning_ = false;
  size_t next_matrix_ = 0;
  size_t next_row_ = 0;
};

}  // namespace kinglet
