// The tensors that blocks are made of.
#pragma once

#include <cstddef>

#include "kernels/kernels.h"

namespace kinglet {

// y = scale W x + b, with a matrix [rows][columns]. Vectors are F32 in every file, and so is the
// scale.
struct Linear {
  PackedMatrix matrix;
  const float* bias = nullptr;   // [rows], or null
  const float* scale = nullptr;  // for types whose blocks have too narrow a range: NVFP4; null: 1
};

// If `weight` is null, there is no norm. The bias may be null on its own.
struct Norm {
  const float* weight = nullptr;  // [n_weights]
  const float* bias = nullptr;
  size_t width = 0;      // of the rows that are normalized
  size_t n_weights = 0;  // a multiple of width: successive rows may have weights of their own
};

}  // namespace kinglet
