// Chooses the type of each tensor of a quantized file. Every tensor gets the same type as from
// llama.cpp's quantize program (src/llama-quant.cpp, b11118, without its special rules for the
// architectures falcon and bailingmoe3). Two mixes differ: llama.cpp has no NVFP4, and its Q1_0
// keeps the output in Q6_K, while published one-bit models have one bit everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/header.h"

namespace kinglet {

// Selects some of the matrices of one kind, which are numbered from the first layer up.
enum class Which : uint8_t {
  none,
  first2,
  first4,
  first16th,
  first8th,
  spread,               // the first eighth, the last eighth, and every third matrix between them
  first8th_or_spread8,  // with eight experts `spread`, else the first eighth
  middle,               // all but the first and the last eighth
  grouped,              // all, if four or more query heads share a value head
  grouped_or_experts,   // the same, or if there are four or more experts
};

// Two types for the matrices of one kind.
struct Choice {
  DType type;
  Which which = Which::none;
  DType other = type;  // for the matrices that `which` selects
};

// A named mix of types: most matrices get one type, and the sensitive ones get finer types.
struct Recipe {
  std::string_view name;  // "Q4_0", "Q4_K_M"
  uint32_t file_type;     // the number of the mix in general.file_type
  DType matrices;
  DType output;                // output.weight, or token_embd if there is no output.weight
  Choice values;               // attn_v, attn_kv_b, or attn_qkv if the three are one matrix
  Choice down;                 // ffn_down, of experts too
  DType attention;             // attn_output
  DType attention8;            // attn_output in models with eight experts
  DType embedding = matrices;  // token_embd, if there is an output.weight
  DType experts = matrices;    // matrices of three dimensions
  DType queries = matrices;    // attn_q and attn_k
  Choice gates = {matrices};   // ffn_gate and ffn_up
  // Whether it is one of IQ1 and IQ2. Their rules differ in three ways: attn_k and attn_v of eight
  // experts get Q4_K instead of Q8_0, a model of 70B gets no finer attn_v, and each ffn_down
  // counts, also if a layer has several.
  bool is_below_3_bits = false;
};

// Finds a mix by its name, ignoring case. Q3_K, Q4_K and Q5_K mean the mixes with _M; MXFP4 means
// MXFP4_MOE: experts in MXFP4, all else in Q8_0. Fails with ErrorCode::invalid_argument, which
// lists the known names.
Result<Recipe> find_recipe(std::string_view name);

// The mix as it is with an importance matrix: then IQ4_NL, IQ4_XS and IQ3_XXS need no finer types
// for down projections and values, and Q4_0 and Q5_0 can have them.
Recipe with_importance(Recipe recipe);

// Whether a tensor of this type is useless if it is encoded without an importance matrix. As in
// llama.cpp, this holds for the types of at most 3.1 bits a weight with a codebook, except in the
// embedding and the output.
bool needs_importance(std::string_view tensor, DType type);

// The name of the mix with this number in general.file_type; empty if there is no such mix.
std::string_view mix_name(uint32_t file_type);

// Returns the layer of a name like "blk.12.attn_v.weight", or nothing for other names.
std::optional<uint32_t> layer_of(std::string_view tensor);

// The properties of a model, besides its tensors, that the choice depends on.
struct ModelTraits {
  uint32_t n_layers = 0;
  uint32_t n_experts = 0;       // 0: none
  uint32_t heads_of_value = 1;  // query heads per value head in the first layer; 0: no attention
  bool is_70b = false;          // llama.cpp takes it for one of 70B parameters with few value heads
};

// Reads ARCHITECTURE.block_count, expert_count, attention.head_count and head_count_kv (numbers, or
// arrays with a number for each layer). Fails with ErrorCode::missing_metadata or wrong_type for
// general.architecture or the number of layers.
Result<ModelTraits> read_traits(const GgufHeader& header);

// Returns the types of `tensors`, in the same order. Vectors, norms, routers of experts and other
// small or delicate tensors keep their type. Rows that are not a whole number of blocks get a type
// with smaller blocks (Q4_K: Q5_0, Q6_K: Q8_0, …), or F16.
std::vector<DType> recipe_types(const Recipe& recipe, const ModelTraits& model,
                                std::span<const TensorInfo> tensors);

}  // namespace kinglet
