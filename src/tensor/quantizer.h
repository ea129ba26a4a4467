// Conversion of floats to weights of a type. It is not part of dtypes(), so that programs that only
// read models, such as the wasm module, are linked without the encoders.
#pragma once

#include <cstddef>

#include "tensor/dtype.h"

namespace kinglet {

// Encodes n finite weights, n a multiple of the type's block_size.
using Quantizer = void (*)(const float* in, std::byte* blocks, size_t n);

// Returns the quantizer of a type; null for types that the project only reads.
Quantizer find_quantizer(DType type);

// The same for n weights that matter unequally. `importance`: n positive numbers; only their
// ratios count.
using ImportanceQuantizer = void (*)(const float* in, const float* importance, std::byte* blocks,
                                     size_t n);

// Returns the quantizer of a type that can use the importance of weights; null for others.
ImportanceQuantizer find_importance_quantizer(DType type);

}  // namespace kinglet
