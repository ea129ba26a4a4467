// The layout in which kernels read weights.
//
// A kernel with R = interleave processes R rows at once. Their blocks are cut into units (a scale,
// four code bytes, …). Unit 0 of all R rows is followed by unit 1 of all R rows, and so on: the
// rows are interleaved. One vector load then gives the same unit of every row, and no dot product
// needs a horizontal sum. With two-byte scales and R = 4, a column of Q4_0 blocks becomes
//
//   s0 s1 s2 s3 | row 0: c0-c3, row 1: c0-c3, row 2: c0-c3, row 3: c0-c3 | rows 0-3: c4-c7 | …
//
// Packing only moves bytes, and for some types changes the order of codes within a block (see
// code_order.h), so it works in place. Rows that are kept as another type (see DTypeInfo::coded)
// are packed towards the beginning of their room. The last n_rows % R rows are not interleaved; the
// scalar kernel multiplies them.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "kernels/kernels.h"
#include "tensor/tensor.h"

namespace kinglet {

// Describes the tensor's rows as they will be after packing for `kernels`: in place, or in its
// room.
PackedMatrix packed_form(const TensorView& tensor, const KernelSet& kernels);

// Returns the bytes of the rows that are packed together.
size_t packed_group_bytes(const PackedMatrix& matrix);

// The rows of a matrix as they are in the file.
struct FileRows {
  const std::byte* data;
  DType type;
};

// Packs rows [begin, end), where `matrix` is the packed_form(). `begin` is a multiple of its
// interleave; `end` is one, too, or n_rows. `room` has packed_group_bytes(matrix) bytes. In a room,
// writes over the file's rows before `end`, and over none after it.
void pack_rows(const PackedMatrix& matrix, const FileRows& rows, size_t begin, size_t end,
               std::byte* room);

// Packs the tensor's rows for `kernels` and describes the result.
// ErrorCode::out_of_memory if a copy of `interleave` rows cannot be allocated.
Result<PackedMatrix> pack_in_place(const TensorView& tensor, const KernelSet& kernels);

// Writes row `row` of a packed matrix as floats [n_columns].
void dequantize_row(const PackedMatrix& matrix, size_t row, float* out);

}  // namespace kinglet
