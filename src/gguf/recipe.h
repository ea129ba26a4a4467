// Which type each tensor of a quantized file gets: tensor by tensor the same as llama.cpp's
// quantize program chooses without an importance matrix (src/llama-quant.cpp, b11118; but not what
// it has for the architectures falcon and bailingmoe3 alone). It has no mix NVFP4, and its Q1_0
// leaves the output in Q6_K, while published models of one bit are so from end to end.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/header.h"

namespace kinglet {

// Some of the matrices of one kind, numbered from the first layer up.
enum class Which : uint8_t {
  none,
  first2,
  first4,
  first16th,
  first8th,
  spread,   // the first and the last eighth, and every third between
  grouped,  // all, where four query heads or more share a value head
};

// Two types for the matrices of one kind.
struct Choice {
  DType type;
  Which which = Which::none;
  DType finer = type;  // of `which`
};

// A named mix of types: most matrices in one, the sensitive ones in finer ones.
struct Recipe {
  std::string_view name;  // "Q4_0", "Q4_K_M"
  uint32_t file_type;     // the number of the mix in general.file_type
  DType matrices;
  DType output;                // output.weight, or token_embd where the file has no other
  Choice values;               // attn_v, attn_kv_b, or attn_qkv where they are in one
  Choice down;                 // ffn_down, of experts too
  DType attention;             // attn_output
  DType attention8;            // attn_output in models of eight experts
  DType embedding = matrices;  // token_embd, where output.weight is another
  DType experts = matrices;    // matrices of three dimensions
};

// Finds a mix by its name in any case. Q3_K, Q4_K, Q5_K are the mixes with _M, MXFP4 is MXFP4_MOE:
// experts in MXFP4, all else in Q8_0. ErrorCode::invalid_argument names the known ones.
Result<Recipe> find_recipe(std::string_view name);

// The name of the mix that general.file_type numbers; empty where it is none of these.
std::string_view mix_name(uint32_t file_type);

// What the choice depends on beside the tensors.
struct ModelTraits {
  uint32_t n_layers = 0;
  uint32_t n_experts = 0;       // 0: none
  uint32_t heads_of_value = 1;  // query heads that share one, in the first layer; 0: no attention
  bool is_70b = false;          // of those whose values are eight times fewer than queries
};

// Reads ARCHITECTURE.block_count, expert_count, attention.head_count and head_count_kv (numbers, or
// arrays of a number for each layer). ErrorCode::missing_metadata, wrong_type: general.architecture
// or the number of layers.
Result<ModelTraits> read_traits(const GgufHeader& header);

// The types of `tensors`, in their order. Vectors, norms, routers of experts and other small or
// delicate tensors keep theirs. A row that is not a whole number of blocks gets a type of smaller
// blocks (Q4_K: Q5_0, Q6_K: Q8_0, …), or F16.
std::vector<DType> recipe_types(const Recipe& recipe, const ModelTraits& model,
                                std::span<const TensorInfo> tensors);

}  // namespace kinglet
