// Decoding and encoding of single blocks (see blocks.h). Part of the implementation of the type
// table.
#pragma once

#include "tensor/blocks.h"

namespace kinglet {

// In blocks of 32 codes: weights in the low nibbles; the high nibbles hold as many.
constexpr size_t kHalfBlock = 16;

// Sets nibble i of `bytes`, low nibble first. It must be 0 at first.
inline void add_nibble(uint8_t* bytes, size_t i, unsigned nibble) {
  bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] | nibble << (i % 2 * 4));
}

// Writes the block's Block::kSize weights: the exact values of its formula, each rounded once to a
// float.
void decode(const BlockQ4_0& block, float* out);
void decode(const BlockQ4_1& block, float* out);
void decode(const BlockQ5_0& block, float* out);
void decode(const BlockQ5_1& block, float* out);
void decode(const BlockQ8_0& block, float* out);
void decode(const BlockQ2_K& block, float* out);
void decode(const BlockQ3_K& block, float* out);
void decode(const BlockQ4_K& block, float* out);
void decode(const BlockQ5_K& block, float* out);
void decode(const BlockQ6_K& block, float* out);
void decode(const BlockIQ4_NL& block, float* out);
void decode(const BlockIQ4_XS& block, float* out);
void decode(const BlockMXFP4& block, float* out);
void decode(const BlockTQ1_0& block, float* out);
void decode(const BlockTQ2_0& block, float* out);
void decode(const BlockNVFP4& block, float* out);
void decode(const BlockQ1_0& block, float* out);
void decode(const BlockQ2_0& block, float* out);
void decode(const BlockPQ2_0& block, float* out);
void decode(const BlockPTQ1_0& block, float* out);
void decode(const BlockIQ1_S& block, float* out);
void decode(const BlockIQ1_M& block, float* out);
void decode(const BlockIQ2_XXS& block, float* out);
void decode(const BlockIQ2_XS& block, float* out);
void decode(const BlockIQ2_S& block, float* out);
void decode(const BlockIQ3_XXS& block, float* out);
void decode(const BlockIQ3_S& block, float* out);
void decode(const CodedIQ1_S& block, float* out);
void decode(const CodedIQ1_M& block, float* out);
void decode(const CodedIQ2_XXS& block, float* out);
void decode(const CodedIQ2& block, float* out);
void decode(const CodedIQ3_XXS& block, float* out);
void decode(const CodedIQ3_S& block, float* out);

// Encodes Block::kSize finite weights by the rules of ggml; gives the same bytes.
void encode(const float* in, BlockQ4_0& block);
void encode(const float* in, BlockQ4_1& block);
void encode(const float* in, BlockQ5_0& block);
void encode(const float* in, BlockQ5_1& block);
void encode(const float* in, BlockQ8_0& block);
void encode(const float* in, BlockMXFP4& block);
void encode(const float* in, BlockTQ1_0& block);
void encode(const float* in, BlockTQ2_0& block);
void encode(const float* in, BlockNVFP4& block);
void encode(const float* in, BlockQ1_0& block);
void encode(const float* in, BlockQ2_0& block);

// Returns the same weights as they are kept in memory.
CodedIQ1_S encode(const BlockIQ1_S& block);
CodedIQ1_M encode(const BlockIQ1_M& block);
CodedIQ2_XXS encode(const BlockIQ2_XXS& block);
CodedIQ2 encode(const BlockIQ2_XS& block);
CodedIQ2 encode(const BlockIQ2_S& block);
CodedIQ3_XXS encode(const BlockIQ3_XXS& block);
CodedIQ3_S encode(const BlockIQ3_S& block);

// Encodes Block::kSize finite weights. Searches for the least squared error, in which each weight
// counts by its importance, a positive number.
void encode(const float* in, const float* importance, BlockQ4_0& block);
void encode(const float* in, const float* importance, BlockQ4_1& block);
void encode(const float* in, const float* importance, BlockQ5_0& block);
void encode(const float* in, const float* importance, BlockQ5_1& block);
void encode(const float* in, const float* importance, BlockQ2_K& block);
void encode(const float* in, const float* importance, BlockQ3_K& block);
void encode(const float* in, const float* importance, BlockQ4_K& block);
void encode(const float* in, const float* importance, BlockQ5_K& block);
void encode(const float* in, const float* importance, BlockQ6_K& block);
void encode(const float* in, const float* importance, BlockIQ4_NL& block);
void encode(const float* in, const float* importance, BlockIQ4_XS& block);
void encode(const float* in, const float* importance, BlockIQ1_S& block);
void encode(const float* in, const float* importance, BlockIQ1_M& block);
void encode(const float* in, const float* importance, BlockIQ2_XXS& block);
void encode(const float* in, const float* importance, BlockIQ2_XS& block);
void encode(const float* in, const float* importance, BlockIQ2_S& block);
void encode(const float* in, const float* importance, BlockIQ3_XXS& block);
void encode(const float* in, const float* importance, BlockIQ3_S& block);

}  // namespace kinglet
