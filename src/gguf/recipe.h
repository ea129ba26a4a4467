// Which type each tensor of a quantized file gets.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "tensor/tensor.h"

namespace kinglet {

// A named mix of types, as llama.cpp's quantize program makes them: most matrices in one type, the
// sensitive ones (output, and for Q4_K_M some values and down projections) in a finer one.
struct Recipe {
  std::string_view name;  // "Q4_0", "Q4_K_M"
  DType matrices;
  DType output;     // output.weight, or token_embd.weight where the file has no other
  DType sensitive;  // attn_v and ffn_down in the first, the last and every third layer between
};

// Any type that the project can quantize to, or "Q4_K_M". ErrorCode::invalid_argument names those.
Result<Recipe> find_recipe(std::string_view name);

// The type for one tensor. Vectors stay F32; a row that is not a whole number of blocks gets the
// nearest finer type with smaller blocks (Q4_K: Q5_0, Q6_K: Q8_0), or F16.
DType recipe_type(const Recipe& recipe, std::string_view tensor, const Shape& shape,
                  uint32_t n_layers, bool tied_output);

}  // namespace kinglet
