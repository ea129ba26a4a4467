// Checks the weights of a file and packs its matrices in place: while the file arrives, the parts
// that are there, on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/stored_tensor.h"
#include "kernels/kernels.h"
#include "kernels/packing.h"
#include "tensor/tensor.h"

namespace kinglet {

class WeightFill {
 public:
  // Rows [begin, end) of a matrix, which one thread packs at a time.
  struct Part {
    size_t matrix;
    size_t begin;
    size_t end;
    std::optional<size_t> bad_block;  // of the matrix's tensor, not finite; set by run()
    uint64_t hash = 0;                // of the rows, as the file has them; set by run()
  };

  // Rows of a tensor that stays in its file.
  struct StoredRows {
    std::string_view name;  // of the tensor
    StoredTensor tensor;
    size_t n_rows;
    size_t row_bytes;
  };

  // Adds a matrix that is a part of `tensor`, whose first row is at `rows`. `form`: as it will be,
  // see packed_form(). The bytes need not have arrived.
  void add(const TensorView& tensor, const std::byte* rows, const PackedMatrix& form);

  // The same for a matrix that could also stay in its file. Of a large one only a sample of its
  // rows is hashed, in both cases, so that the hash is the same.
  void add_table(const TensorView& tensor, const PackedMatrix& form);
  void add_table(const StoredRows& rows) { stored_.push_back(rows); }

  // Calls f(tensor name, form) for each matrix that is not a table.
  template <class F>
  void for_each_matrix(const F& f) const {
    for (const Matrix& matrix : matrices_) {
      if (!matrix.is_table) f(matrix.name, matrix.form);
    }
  }

  // Brings the matrices into the order of the file. Call this after the last add().
  void sort();

  // Bytes that each thread needs for run().
  size_t room_bytes() const { return room_bytes_; }

  // Returns the parts that are in `arrived`, the beginning of the file's data, and were not
  // returned before. If these have fewer than `bytes` bytes in all, returns none, unless nothing
  // more could be added to them. The parts returned before must have run: packing rows into their
  // room writes over rows before them.
  std::vector<Part> next_parts(std::span<const std::byte> arrived, size_t bytes);

  // Checks and packs a part that has arrived. Different parts can run at the same time.
  void run(Part& part, std::byte* room) const;

  // Records the bad block that run() has found, and the hash.
  void note(const Part& part);

  // Whether all parts were returned.
  bool is_done() const { return next_matrix_ == matrices_.size(); }

  // Checks and packs what is left, once the file is complete. ErrorCode::out_of_memory; not_finite
  // names the first tensor that contains NaN or infinity; io (a table in its file).
  Status finish();

  // After finish(): a hash of all weights, except for most rows of large tables, as the file has
  // them. It is the same for all kernels.
  uint64_t hash() const { return hash_; }

 private:
  struct Matrix {
    PackedMatrix form;
    FileRows rows;
    std::string_view name;  // of the matrix's tensor
    uint64_t name_hash;
    const std::byte* tensor;          // its first byte
    size_t hash_step;                 // every row whose index is a multiple of this is hashed
    std::optional<size_t> bad_block;  // of the tensor
    bool is_table = false;

    size_t row_bytes() const { return dtype_info(rows.type).row_bytes(form.n_columns); }
    const std::byte* row(size_t i) const { return rows.data + i * row_bytes(); }
    // Where the packed row begins.
    const std::byte* packed_row(size_t i) const {
      return form.data + i * dtype_info(form.type).row_bytes(form.n_columns);
    }
  };

  std::vector<Part> parts_before(const std::byte* end, size_t bytes);
  Status hash_stored(const StoredRows& rows);

  std::vector<Matrix> matrices_;
  std::vector<StoredRows> stored_;
  uint64_t hash_ = 0;
  size_t room_bytes_ = 0;
  size_t next_matrix_ = 0;
  size_t next_row_ = 0;
};

}  // namespace kinglet
