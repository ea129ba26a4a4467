// The layout in which kernels read weights.
//
// A kernel with R = interleave works on R rows at once. Their blocks are cut into units (a scale,
// four code bytes, …), and unit 0 of all R rows is followed by unit 1 of all R rows, and so on, so
// that one vector load gives the same unit of every row and no dot product ends in a horizontal
// sum. With two-byte scales and R = 4, a Q4_0 block column becomes
//
//   s0 s1 s2 s3 | row 0: c0-c3, row 1: c0-c3, row 2: c0-c3, row 3: c0-c3 | rows 0-3: c4-c7 | …
//
// Packing moves bytes, and turns bits within words of some types, so it works in place. The last
// n_rows % R rows stay as they are; they are multiplied by the scalar kernel.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "kernels/kernels.h"
#include "tensor/tensor.h"

namespace kinglet {

// What the tensor's rows are once they are packed in place for `kernels`.
PackedMatrix packed_form(const TensorView& tensor, const KernelSet& kernels);

// Bytes of the rows that are packed together; 0 where rows stay as they are.
size_t packed_group_bytes(const PackedMatrix& matrix);

// Packs rows [begin, end) of what is to become `matrix`. Both are multiples of its interleave, or
// its last row's end. `room`: packed_group_bytes() of it.
void pack_rows(const PackedMatrix& matrix, size_t begin, size_t end, std::byte* room);

// Packs the tensor's rows in place for `kernels` and describes the result.
// ErrorCode::out_of_memory: there is no room for a copy of `interleave` rows.
Result<PackedMatrix> pack_in_place(const TensorView& tensor, const KernelSet& kernels);

// Writes row `row` of a packed matrix as floats [n_columns].
void dequantize_row(const PackedMatrix& matrix, size_t row, float* out);

}  // namespace kinglet
