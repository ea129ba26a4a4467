// Packed blocks of quantized weights, in the layout of GGUF files (little-endian).
//
// Each comment gives the format as a formula: w[i] is weight i of the block, and code[i] is its
// number, whose bits are in the fields. K, IQ and TQ types have blocks of 256 weights, cut into
// sub-blocks that have their own scales. Source of the layouts: the block structs of ggml-common.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bit_cast.h"
#include "base/half.h"

namespace kinglet {

#pragma pack(push, 1)

// --- Blocks of 32 weights with one scale
// In `codes`, byte i holds weight i in its low nibble and weight i + 16 in its high nibble.

// w[i] = scale * (code[i] - 8).
struct BlockQ4_0 {
  static constexpr size_t kSize = 32;
  Half scale;
  uint8_t codes[kSize / 2];
};
static_assert(sizeof(BlockQ4_0) == 18);

// w[i] = scale * code[i] + minimum.
struct BlockQ4_1 {
  static constexpr size_t kSize = 32;
  Half scale;
  Half minimum;
  uint8_t codes[kSize / 2];
};
static_assert(sizeof(BlockQ4_1) == 20);

// w[i] = scale * (code[i] - 16). Bit 4 of code[i] is bit i of high_bits.
struct BlockQ5_0 {
  static constexpr size_t kSize = 32;
  Half scale;
  uint32_t high_bits;
  uint8_t codes[kSize / 2];
};
static_assert(sizeof(BlockQ5_0) == 22);

// w[i] = scale * code[i] + minimum. Bit 4 of code[i] is bit i of high_bits.
struct BlockQ5_1 {
  static constexpr size_t kSize = 32;
  Half scale;
  Half minimum;
  uint32_t high_bits;
  uint8_t codes[kSize / 2];
};
static_assert(sizeof(BlockQ5_1) == 24);

// w[i] = scale * code[i].
struct BlockQ8_0 {
  static constexpr size_t kSize = 32;
  Half scale;
  int8_t codes[kSize];
};
static_assert(sizeof(BlockQ8_0) == 34);

// --- K types

// 16 sub-blocks of 16: w[i] = scale * (scales[i / 16] & 15) * code[i]
//                             - minimum_scale * (scales[i / 16] >> 4).
// Each half of 128 weights has 32 bytes of bit pairs (weight l, l + 32, l + 64, l + 96 from bit 0
// up).
struct BlockQ2_K {
  static constexpr size_t kSize = 256;
  uint8_t scales[kSize / 16];
  uint8_t pairs[kSize / 4];
  Half scale;
  Half minimum_scale;
};
static_assert(sizeof(BlockQ2_K) == 84);

// Sixteen 6-bit scales of Q3_K. Byte l of 0-7: the low four bits of scale l, then of scale l + 8.
// Byte 8 + l of 8-11: the upper two bits of scales l, l + 4, l + 8, l + 12, from bit 0 up.
struct Q3KScales {
  uint8_t bytes[12];

  int scale(size_t i) const {
    const int low = bytes[i % 8] >> (i / 8 * 4) & 0x0f;
    const int high = bytes[8 + i % 4] >> (i / 4 * 2) & 0x03;
    return (high << 4 | low) - 32;
  }
};

// 16 sub-blocks of 16: w[i] = scale * scales.scale(i / 16) * (code[i] - 4).
// The low bits are stored as in Q2_K; bit 2 of code[i] is bit i / 32 of high_bits[i % 32].
struct BlockQ3_K {
  static constexpr size_t kSize = 256;
  uint8_t high_bits[kSize / 8];
  uint8_t pairs[kSize / 4];
  Q3KScales scales;
  Half scale;
};
static_assert(sizeof(BlockQ3_K) == 110);

// Eight pairs of a 6-bit scale and a 6-bit minimum, for Q4_K and Q5_K. The low six bits of bytes
// 0-3 are scales 0-3; those of bytes 4-7 are minima 0-3. Bytes 8-11 hold the low four bits of
// scales 4-7 (low nibble) and minima 4-7 (high nibble). The upper two bits of scales 4-7 are the
// upper bits of bytes 0-3; those of minima 4-7 are the upper bits of bytes 4-7.
struct ScalesAndMinima {
  uint8_t bytes[12];

  int scale(size_t i) const {
    return i < 4 ? bytes[i] & 0x3f : (bytes[i + 4] & 0x0f) | (bytes[i - 4] >> 6 << 4);
  }
  int minimum(size_t i) const {
    return i < 4 ? bytes[i + 4] & 0x3f : bytes[i + 4] >> 4 | (bytes[i] >> 6 << 4);
  }
};

// 8 sub-blocks of 32: w[i] = scale * scales.scale(i / 32) * code[i]
//                            - minimum_scale * scales.minimum(i / 32).
// Each 64 weights have 32 bytes of nibbles (weights 0-31 low, 32-63 high).
struct BlockQ4_K {
  static constexpr size_t kSize = 256;
  Half scale;
  Half minimum_scale;
  ScalesAndMinima scales;
  uint8_t nibbles[kSize / 2];
};
static_assert(sizeof(BlockQ4_K) == 144);

// Like Q4_K, with bit 4 of code[i] in bit i / 32 of high_bits[i % 32].
struct BlockQ5_K {
  static constexpr size_t kSize = 256;
  Half scale;
  Half minimum_scale;
  ScalesAndMinima scales;
  uint8_t high_bits[kSize / 8];
  uint8_t nibbles[kSize / 2];
};
static_assert(sizeof(BlockQ5_K) == 176);

// 16 sub-blocks of 16: w[i] = scale * scales[i / 16] * (code[i] - 32).
// Each half of 128 weights has 64 bytes of low nibbles (weights 0-63 low, 64-127 high) and
// 32 bytes of upper bit pairs (weight l, l + 32, l + 64, l + 96 from bit 0 up).
struct BlockQ6_K {
  static constexpr size_t kSize = 256;
  uint8_t low_nibbles[kSize / 2];
  uint8_t high_pairs[kSize / 4];
  int8_t scales[kSize / 16];
  Half scale;
};
static_assert(sizeof(BlockQ6_K) == 210);

// --- 4-bit codes that number the entries of a table

// The values of IQ4_NL and IQ4_XS. The steps grow away from 0, as large weights are rarer.
inline constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

// The values of MXFP4: twice those of a 4-bit float E2M1 (OCP Microscaling Formats 1.0).
inline constexpr int8_t kMxfp4Values[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                            0, -1, -2, -3, -4, -6, -8, -12};

// 32 weights: w[i] = scale * kIq4Values[code[i]], with nibbles as in Q4_0.
struct BlockIQ4_NL {
  static constexpr size_t kSize = 32;
  Half scale;
  uint8_t codes[kSize / 2];
};
static_assert(sizeof(BlockIQ4_NL) == 18);

// 8 sub-blocks of 32: w[i] = scale * (scales[i / 32] - 32) * kIq4Values[code[i]].
// A 6-bit scale consists of a nibble of scale_nibbles (low nibble first) and a bit pair of
// scale_pairs (from bit 0 up). Each sub-block has 16 bytes of nibbles as in Q4_0.
struct BlockIQ4_XS {
  static constexpr size_t kSize = 256;
  Half scale;
  uint16_t scale_pairs;
  uint8_t scale_nibbles[kSize / 64];
  uint8_t nibbles[kSize / 2];
};
static_assert(sizeof(BlockIQ4_XS) == 136);

// 32 weights: w[i] = 2^(exponent - 127) * kMxfp4Values[code[i]] / 2, with nibbles as in Q4_0.
struct BlockMXFP4 {
  static constexpr size_t kSize = 32;
  uint8_t exponent;
  uint8_t codes[kSize / 2];

  // Returns 2^(exponent - 128); the two smallest scales are subnormal floats.
  float scale() const {
    if (exponent < 2) return bit_cast<float>(0x00200000u << exponent);
    return bit_cast<float>((exponent - 1u) << 23);
  }
};
static_assert(sizeof(BlockMXFP4) == 17);

// 4 sub-blocks of 16: w[i] = scale(i / 16) * kMxfp4Values[code[i]]. Each sub-block has 8 bytes of
// nibbles (weights 0-7 low, 8-15 high). A tensor also has a factor of its own: see Linear.
struct BlockNVFP4 {
  static constexpr size_t kSize = 64;
  uint8_t scales[kSize / 16];
  uint8_t nibbles[kSize / 2];

  // Returns half of an 8-bit float E4M3 (see base/fp8.h), ignoring its sign. The NaN 0x7f is 0, as
  // in ggml.
  float scale(size_t sub_block) const {
    const uint32_t code = scales[sub_block];
    return code == 0x7f ? 0.0f : bit_cast<float>((code & 0x7f) << 20) * 0x1p119f;
  }
};
static_assert(sizeof(BlockNVFP4) == 36);

// --- One bit: w[i] = scale where bit i of `bits` is set, else -scale

struct BlockQ1_0 {
  static constexpr size_t kSize = 128;
  Half scale;
  uint8_t bits[kSize / 8];
};
static_assert(sizeof(BlockQ1_0) == 18);

// --- Ternary types: w[i] = scale * (code[i] - 1), code 0, 1 or 2

// Five codes per byte, as the digits of a fraction in base 3: byte / 256 = 0.d0 d1 d2 d3 d4 in base
// 3, rounded up. Multiplying the byte by 3 moves the next digit into the bits above it. Digit l of
// byte b of `fives` is weight 32 * l + b for b < 32, else weight 160 + 16 * l + (b - 32). The bytes
// of `fours` have four digits: digit l of byte b is weight 240 + 4 * l + b.
struct BlockTQ1_0 {
  static constexpr size_t kSize = 256;
  uint8_t fives[48];
  uint8_t fours[4];
  Half scale;
};
static_assert(sizeof(BlockTQ1_0) == 54);

// The codes are bit pairs as in Q2_K.
struct BlockTQ2_0 {
  static constexpr size_t kSize = 256;
  uint8_t pairs[kSize / 4];
  Half scale;
};
static_assert(sizeof(BlockTQ2_0) == 66);

// Like TQ1_0, but digit l of byte b of `fives` is weight 16 * l + b for b < 16, else weight
// 80 + 8 * l + (b - 16); digit l of byte b of `fours` is weight 120 + 2 * l + b.
struct BlockPTQ1_0 {
  static constexpr size_t kSize = 128;
  uint8_t fives[24];
  uint8_t fours[2];
  Half scale;
};
static_assert(sizeof(BlockPTQ1_0) == 28);

// The code may also be 3. Byte i of `pairs` holds codes 4 * i to 4 * i + 3, from bit 0 up.
struct BlockQ2_0 {
  static constexpr size_t kSize = 64;
  Half scale;
  uint8_t pairs[kSize / 4];
};
static_assert(sizeof(BlockQ2_0) == 18);

// Like Q2_0, with 128 weights. Q2_0 had such blocks in its first months, with the id that it still
// has: see parse.cpp.
struct BlockPQ2_0 {
  static constexpr size_t kSize = 128;
  Half scale;
  uint8_t pairs[kSize / 4];
};
static_assert(sizeof(BlockPQ2_0) == 34);

// --- Codebook types in memory, which no file has: each weight has a code of its own, which numbers
// one of the values that its codebook's vectors hold. Sub-block scales s are those of the file, in
// nibbles (low nibble first).

// 8 sub-blocks of 32: w[i] = kFactor * scale * (2 * s + 1) * kValues[code[i]].
// Each sub-block has 16 bytes of nibbles as in Q4_0: three bits of magnitude, then the sign.
struct CodedIQ3 {
  static constexpr size_t kSize = 256;
  Half scale;
  uint8_t scales[kSize / 64];
  uint8_t nibbles[kSize / 2];
};
struct CodedIQ3_XXS : CodedIQ3 {
  static constexpr float kFactor = 0.25f;
  static constexpr int8_t kValues[16] = {4,  12,  20,  28,  36,  44,  52,  62,
                                         -4, -12, -20, -28, -36, -44, -52, -62};
};
struct CodedIQ3_S : CodedIQ3 {
  static constexpr float kFactor = 1.0f;
  static constexpr int8_t kValues[16] = {1,  3,  5,  7,  9,  11,  13,  15,
                                         -1, -3, -5, -7, -9, -11, -13, -15};
};
static_assert(sizeof(CodedIQ3_XXS) == 134 && sizeof(CodedIQ3_S) == 134);

// The values of codes of IQ2: bit 0 is the low bit of the magnitude's number, bit 1 the sign, bit 2
// the magnitude's high bit.
//
// Each 32 weights have three words. Byte j of a word has bits of columns 4 i + j, i < 8; c(i) is
// the code of column 4 i + j. From bit 0 up, with the numbers of bits:
//   even[0]  c(0): 3, high bit of c(1), c(2): 3, high bit of c(3)
//   even[1]  c(4): 3, high bit of c(5), c(6): 3, high bit of c(7)
//   odd      the lower two bits of c(1), c(5), c(3), c(7)
// So four codes are found with a shift and a mask, and the others with little more.
struct CodesIQ2 {
  static constexpr size_t kSize = 256;
  static constexpr float kFactor = 0.125f;
  static constexpr int8_t kValues[8] = {8, 25, -8, -25, 43, 0, -43, 0};
  struct Words {
    uint8_t even[2][4];
    uint8_t odd[4];
  };
};

// IQ2_XS and IQ2_S. 16 sub-blocks of 16: w[i] = kFactor * scale * (2 * s + 1) * kValues[code[i]].
struct CodedIQ2 : CodesIQ2 {
  Half scale;
  uint8_t scales[kSize / 32];
  Words words[kSize / 32];
};
static_assert(sizeof(CodedIQ2) == 106);

// Like CodedIQ2, but with 8 sub-blocks of 32, and without the bits that follow from others: of the
// 8 weights of a group, an even number is negative, and an even number has magnitude 1. So of the
// last weight of a group, the lower two bits of the code are free, which are all of odd[3]. Its low
// nibble is s. The high nibbles of all sub-blocks, the first one lowest, are the last sub-block's
// even[1], which has no bytes of its own.
struct CodedIQ2_XXS : CodesIQ2 {
  Half scale;
  Words words[kSize / 32 - 1];
  uint8_t last_even[4];
  uint8_t last_odd[4];
};
static_assert(sizeof(CodedIQ2_XXS) == 94);

// w[i] = kFactor * scale * (2 * s + 1) * (8 * code[i] + 2 * positive - kOffset). The codes, 0 to 2,
// are pairs as in Q2_K; s has three bits.
struct CodesIQ1 {
  static constexpr size_t kSize = 256;
  static constexpr float kFactor = 0.125f;
  static constexpr int kOffset = 9;
};

// 8 sub-blocks of 32. Bit 3 of the nibble of s is `positive`.
struct CodedIQ1_S : CodesIQ1 {
  Half scale;
  uint8_t scales[kSize / 64];
  uint8_t pairs[kSize / 4];
};
static_assert(sizeof(CodedIQ1_S) == 70);

// 16 sub-blocks of 16. `positive` is for groups of 8: that of weights 128 h + 32 q + 8 k and
// following is bit q of nibble 4 h + k of `positive`.
struct CodedIQ1_M : CodesIQ1 {
  Half scale;
  uint8_t scales[kSize / 32];
  uint8_t positive[kSize / 64];
  uint8_t pairs[kSize / 4];
};
static_assert(sizeof(CodedIQ1_M) == 78);

// --- Codebook types (see codebooks.h): groups of 8 (IQ1, IQ2) or 4 (IQ3) weights are numbers of
// codebook vectors. IQ2 and IQ3 have a sign for each weight, from bit 0 up: a set bit is a minus.
// "Even signs" are the first seven of eight signs; the eighth makes the number of minuses even.

// IQ1: w[i] = scale * (2 * s + 1) * (v[i] + delta). A scale s has 3 bits, and is for 32 weights in
// IQ1_S, 16 in IQ1_M. delta is 1/8, or -1/8 if the group's negative bit is set; v is from the IQ1
// codebook.

// In IQ1_S, four groups share s (bits 12-14) and the negative bit (bit 15) of high[i / 32]. Its
// lower bits are bits 8-10 of the four groups' vector numbers.
struct BlockIQ1_S {
  static constexpr size_t kSize = 256;
  using Coded = CodedIQ1_S;
  Half scale;
  uint8_t low[kSize / 8];
  uint16_t high[kSize / 32];
};
static_assert(sizeof(BlockIQ1_S) == 50);

// In IQ1_M, each group has a nibble of `high` (low nibble first): bits 8-10 of its vector number,
// then the negative bit. Each word of `scales` holds four s, from bit 0 up. Its upper nibble is one
// nibble of the block's binary16 scale, the lowest in the first word.
struct BlockIQ1_M {
  static constexpr size_t kSize = 256;
  using Coded = CodedIQ1_M;
  uint8_t low[kSize / 8];
  uint8_t high[kSize / 16];
  uint16_t scales[kSize / 64];

  Half block_scale() const {
    unsigned bits = 0;
    for (int i = 0; i < 4; ++i) bits |= (scales[i] >> 12 & 0x0fu) << (4 * i);
    return {static_cast<uint16_t>(bits)};
  }
};
static_assert(sizeof(BlockIQ1_M) == 56);

// 8 sub-blocks of 32: w[i] = ± scale * (s + 1/2) / 4 * v[i].
// Each sub-block has four vector numbers, then a word: from bit 0 up, four times seven even signs,
// and s.
struct BlockIQ2_XXS {
  static constexpr size_t kSize = 256;
  using Coded = CodedIQ2_XXS;
  struct SubBlock {
    uint8_t vectors[4];
    uint32_t signs_and_scale;
  };
  Half scale;
  SubBlock sub_blocks[kSize / 32];
};
static_assert(sizeof(BlockIQ2_XXS) == 66);

// 16 sub-blocks of 16: w[i] = ± scale * (s + 1/2) / 4 * v[i]. The nibbles of `scales` are s.
// Each group has a vector number of nine bits, then seven even signs.
struct BlockIQ2_XS {
  static constexpr size_t kSize = 256;
  using Coded = CodedIQ2;
  Half scale;
  uint16_t vectors_and_signs[kSize / 8];
  uint8_t scales[kSize / 32];
};
static_assert(sizeof(BlockIQ2_XS) == 74);

// Like IQ2_XS, but each group has a byte of signs, and a vector number of ten bits: eight in `low`,
// two in a bit pair of `high`.
struct BlockIQ2_S {
  static constexpr size_t kSize = 256;
  using Coded = CodedIQ2;
  Half scale;
  uint8_t low[kSize / 8];
  uint8_t signs[kSize / 8];
  uint8_t high[kSize / 32];
  uint8_t scales[kSize / 32];
};
static_assert(sizeof(BlockIQ2_S) == 82);

// 8 sub-blocks of 32: w[i] = ± scale * (s + 1/2) / 2 * v[i].
// Each group of 4 has a vector number. The words of signs and s are as in IQ2_XXS.
struct BlockIQ3_XXS {
  static constexpr size_t kSize = 256;
  using Coded = CodedIQ3_XXS;
  Half scale;
  uint8_t vectors[kSize / 4];
  uint32_t signs_and_scales[kSize / 32];
};
static_assert(sizeof(BlockIQ3_XXS) == 98);

// 8 sub-blocks of 32: w[i] = ± scale * (2 * s + 1) * v[i]. The nibbles of `scales` are s.
// Vector numbers have nine bits: eight in `low`, one in `high`. Each weight has a sign bit.
struct BlockIQ3_S {
  static constexpr size_t kSize = 256;
  using Coded = CodedIQ3_S;
  Half scale;
  uint8_t low[kSize / 4];
  uint8_t high[kSize / 32];
  uint8_t signs[kSize / 8];
  uint8_t scales[kSize / 64];
};
static_assert(sizeof(BlockIQ3_S) == 110);

#pragma pack(pop)

}  // namespace kinglet
