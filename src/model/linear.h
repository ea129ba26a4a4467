// The tensors that blocks are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/kernels.h"

namespace kinglet {

// The bounds that a matrix was trained with. A number beyond one of them becomes the bound.
struct Bounds {
  const float* least = nullptr;  // null: none
  const float* most = nullptr;

  bool exist() const { return least != nullptr || most != nullptr; }
};

// The names of bounds in a file, after the matrix's name: the least and the most.
constexpr std::string_view kInputBounds[] = {".input_min", ".input_max"};
constexpr std::string_view kOutputBounds[] = {".output_min", ".output_max"};

// y = scale W x + b, with a matrix [rows][columns]. Vectors are F32 in every file, and so are the
// scale and the bounds.
struct Linear {
  PackedMatrix matrix;
  const float* bias = nullptr;   // [rows], or null
  const float* scale = nullptr;  // for types whose blocks have too narrow a range: NVFP4; null: 1
  Bounds input = {};             // of x
  Bounds output = {};            // of scale W x
  // The matrix in a layer's file that this is, for an InputObserver: tensors of experts have
  // several. Of parts of one matrix, which all have the same x, only the first has a name.
  std::string_view tensor = {};
  uint32_t index = 0;
};

// If `weight` is null, there is no norm. The bias may be null on its own.
struct Norm {
  const float* weight = nullptr;  // [n_weights]
  const float* bias = nullptr;
  size_t width = 0;      // of the rows that are normalized
  size_t n_weights = 0;  // a multiple of width: successive rows may have weights of their own
};

}  // namespace kinglet
