// Decodes the IQ1, IQ2 and IQ3 types, whose groups of weights are numbers of codebook vectors, and
// encodes them as they are kept in memory.
#include <cstring>

#include "base/bit_cast.h"
#include "tensor/codebooks.h"
#include "tensor/codecs.h"

namespace kinglet {
namespace {

// The values of the digits of codebook vectors.
constexpr float kIq2Values[] = {8, 25, 43};
constexpr float kIq3XxsValues[] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr float kIq3SValues[] = {1, 3, 5, 7, 9, 11, 13, 15};
constexpr float kIq1Values[2][3] = {{-0.875f, 0.125f, 1.125f}, {-1.125f, -0.125f, 0.875f}};

// Adds the eighth sign to seven even signs.
unsigned even_signs(uint32_t seven) {
  seven &= 0x7f;
  unsigned parity = seven ^ seven >> 4;
  parity ^= parity >> 2;
  parity ^= parity >> 1;
  return seven | (parity & 1u) << 7;
}

// Returns nibble i of `bytes`, low nibble first.
unsigned nibble(const uint8_t* bytes, size_t i) { return bytes[i / 2] >> (i % 2 * 4) & 0x0fu; }

// --- The fields of a block: f(i, digits, signs, s) is called for each group of 8 weights. `digits`
// has two bits for each (IQ1, IQ2) or four (IQ3), `signs` a bit; for IQ1, it is the group's
// negative bit. s is the scale of the group's sub-block.

template <class F>
void for_each_group(const BlockIQ1_S& block, const F& f) {
  const CodebookVector* codebook = iq1_codebook();
  for (size_t i = 0; i < BlockIQ1_S::kSize / 8; ++i) {
    const unsigned word = block.high[i / 4];
    const unsigned high = word >> (i % 4 * 3) & 0x07u;
    f(i, codebook[high << 8 | block.low[i]], word >> 15, word >> 12 & 0x07u);
  }
}

template <class F>
void for_each_group(const BlockIQ1_M& block, const F& f) {
  const CodebookVector* codebook = iq1_codebook();
  for (size_t i = 0; i < BlockIQ1_M::kSize / 8; ++i) {
    const unsigned s = block.scales[i / 8] >> (i / 2 % 4 * 3) & 0x07u;
    const unsigned high = nibble(block.high, i);
    f(i, codebook[(high & 0x07u) << 8 | block.low[i]], high >> 3, s);
  }
}

template <class F>
void for_each_group(const BlockIQ2_XXS& block, const F& f) {
  const CodebookVector* codebook = iq2_xxs_codebook();
  for (size_t i = 0; i < BlockIQ2_XXS::kSize / 8; ++i) {
    const BlockIQ2_XXS::SubBlock& sub_block = block.sub_blocks[i / 4];
    const uint32_t word = sub_block.signs_and_scale;
    f(i, codebook[sub_block.vectors[i % 4]], even_signs(word >> (i % 4 * 7)), word >> 28);
  }
}

template <class F>
void for_each_group(const BlockIQ2_XS& block, const F& f) {
  const CodebookVector* codebook = iq2_xs_codebook();
  for (size_t i = 0; i < BlockIQ2_XS::kSize / 8; ++i) {
    const unsigned word = block.vectors_and_signs[i];
    f(i, codebook[word & 0x1ffu], even_signs(word >> 9), nibble(block.scales, i / 2));
  }
}

template <class F>
void for_each_group(const BlockIQ2_S& block, const F& f) {
  const CodebookVector* codebook = iq2_s_codebook();
  for (size_t i = 0; i < BlockIQ2_S::kSize / 8; ++i) {
    const unsigned high = block.high[i / 4] >> (i % 4 * 2) & 0x03u;
    f(i, codebook[high << 8 | block.low[i]], block.signs[i], nibble(block.scales, i / 2));
  }
}

template <class F>
void for_each_group(const BlockIQ3_XXS& block, const F& f) {
  const CodebookVector* codebook = iq3_xxs_codebook();
  for (size_t i = 0; i < BlockIQ3_XXS::kSize / 8; ++i) {
    const uint32_t word = block.signs_and_scales[i / 4];
    const uint32_t first = codebook[block.vectors[2 * i]];
    const uint32_t second = codebook[block.vectors[2 * i + 1]];
    f(i, second << 16 | first, even_signs(word >> (i % 4 * 7)), word >> 28);
  }
}

template <class F>
void for_each_group(const BlockIQ3_S& block, const F& f) {
  const CodebookVector* codebook = iq3_s_codebook();
  for (size_t i = 0; i < BlockIQ3_S::kSize / 8; ++i) {
    const unsigned high = block.high[i / 4] >> (i % 4 * 2);
    const uint32_t first = codebook[(high & 0x01u) << 8 | block.low[2 * i]];
    const uint32_t second = codebook[(high & 0x02u) << 7 | block.low[2 * i + 1]];
    f(i, second << 16 | first, block.signs[i], nibble(block.scales, i / 4));
  }
}

// --- Decoding ------------------------------------------------------------------------------------

// Writes the weights of a group: scale * values[digit], negated if the weight's bit of `signs` is
// set.
template <size_t kBits>
void write_group(uint32_t digits, const float* values, unsigned signs, float scale, float* out) {
  for (size_t i = 0; i < 8; ++i) {
    const float value = scale * values[digits >> (i * kBits) & ((1u << kBits) - 1)];
    // A branch on random signs would cost more than all the rest.
    out[i] = bit_cast<float>(bit_cast<uint32_t>(value) ^ (signs >> i & 1u) << 31);
  }
}

// scale * (2 s + 1) * factor, which is exact.
float sub_scale(Half scale, unsigned s, float factor) {
  return to_float(scale) * static_cast<float>(2 * s + 1) * factor;
}

template <class Block>
void decode_iq1(const Block& block, Half scale, float* out) {
  for_each_group(block, [&](size_t i, uint32_t digits, unsigned negative, unsigned s) {
    write_group<2>(digits, kIq1Values[negative], 0, sub_scale(scale, s, 1.0f), out + 8 * i);
  });
}

template <size_t kBits, class Block>
void decode_groups(const Block& block, const float* values, float* out) {
  for_each_group(block, [&](size_t i, uint32_t digits, unsigned signs, unsigned s) {
    const float scale = sub_scale(block.scale, s, Block::Coded::kFactor);
    write_group<kBits>(digits, values, signs, scale, out + 8 * i);
  });
}

// --- Weights in memory ---------------------------------------------------------------------------

// Puts eight fields of kBits bits into the low bits of eight bytes.
template <uint32_t kBits>
uint64_t spread(uint64_t fields) {
  constexpr uint64_t kMask = (1u << kBits) - 1;
  fields =
      (fields | fields << (32 - 4 * kBits)) &
      ((kMask << 3 * kBits | kMask << 2 * kBits | kMask << kBits | kMask) * 0x0000000100000001);
  fields = (fields | fields << (16 - 2 * kBits)) & (kMask << kBits | kMask) * 0x0001000100010001;
  return (fields | fields << (8 - kBits)) & kMask * 0x0101010101010101;
}

void add_bits(uint8_t* bytes, uint64_t bits) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  word |= bits;
  std::memcpy(bytes, &word, sizeof word);
}

void add_nibble(uint8_t* bytes, size_t i, unsigned nibble) {
  bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] | nibble << (i % 2 * 4));
}

// The place of a weight, or of the first one of a group, in blocks that have pairs as in Q2_K.
struct CodedPlace {
  size_t half;
  size_t quarter;
  size_t byte;  // of the quarter

  explicit CodedPlace(size_t column)
      : half(column / 128), quarter(column % 128 / 32), byte(column % 32) {}
};

// Codes of IQ2, with all bits.
struct PairsAndSigns {
  uint8_t pairs[CodesIQ2::kSize / 4];
  uint8_t signs[CodesIQ2::kSize / 8];

  void add(size_t group, uint32_t digits, unsigned group_signs) {
    const CodedPlace at(8 * group);
    add_bits(pairs + 32 * at.half + at.byte, spread<2>(digits) << (2 * at.quarter));
    add_bits(signs + at.byte, spread<1>(group_signs) << (4 * at.half + at.quarter));
  }
  float value(size_t column) const {
    const CodedPlace at(column);
    const unsigned pair = pairs[32 * at.half + at.byte] >> (2 * at.quarter) & 0x03u;
    const unsigned sign = signs[at.byte] >> (4 * at.half + at.quarter) & 0x01u;
    return CodesIQ2::kValues[sign << 2 | pair];
  }
};

template <class Block>
CodedIQ2 encode_iq2(const Block& block) {
  PairsAndSigns codes{};
  for_each_group(block, [&](size_t i, uint32_t digits, unsigned signs, unsigned /*s*/) {
    codes.add(i, digits, signs);
  });
  CodedIQ2 coded{};
  coded.scale = block.scale;
  std::memcpy(coded.scales, block.scales, sizeof coded.scales);
  std::memcpy(coded.pairs, codes.pairs, sizeof coded.pairs);
  std::memcpy(coded.signs, codes.signs, sizeof coded.signs);
  return coded;
}

// Sets the low bits of the last byte's pairs, so that in each quarter an even number of low bits is
// set.
void make_even(uint8_t* eight, unsigned mask) {
  unsigned bits = 0;
  for (size_t i = 0; i < 7; ++i) bits ^= eight[i];
  eight[7] = static_cast<uint8_t>((eight[7] & ~mask) | (bits & mask));
}
constexpr unsigned kLowBits = 0x55;  // of four pairs

template <class Coded, class Block>
Coded encode_iq3(const Block& block) {
  Coded coded{};
  coded.scale = block.scale;
  for_each_group(block, [&](size_t i, uint32_t digits, unsigned signs, unsigned s) {
    const uint64_t codes = spread<4>(digits) | spread<1>(signs) << 3;
    add_bits(coded.nibbles + i / 4 * 16 + i % 2 * 8, codes << (i % 4 / 2 * 4));
    if (i % 4 == 0) add_nibble(coded.scales, i / 4, s);
  });
  return coded;
}

template <class Coded>
void decode_iq3(const Coded& block, float* out) {
  for (size_t i = 0; i < Coded::kSize; ++i) {
    const float scale = sub_scale(block.scale, nibble(block.scales, i / 32), Coded::kFactor);
    const unsigned code = block.nibbles[i / 32 * 16 + i % 16] >> (i % 32 / 16 * 4) & 0x0fu;
    out[i] = scale * Coded::kValues[code];
  }
}

template <class Coded, class Block>
Coded encode_iq1(const Block& block) {
  Coded coded{};
  for_each_group(block, [&](size_t i, uint32_t digits, unsigned negative, unsigned s) {
    const CodedPlace at(8 * i);
    add_bits(coded.pairs + 32 * at.half + at.byte, spread<2>(digits) << (2 * at.quarter));
    if constexpr (requires { coded.positive; }) {
      if (i % 2 == 0) add_nibble(coded.scales, i / 2, s);
      add_nibble(coded.positive, 4 * at.half + at.byte / 8, (1u - negative) << at.quarter);
    } else if (i % 4 == 0) {
      add_nibble(coded.scales, i / 4, (1u - negative) << 3 | s);
    }
  });
  return coded;
}

float iq1_weight(const CodesIQ1& /*codes*/, const uint8_t* pairs, size_t column, float scale,
                 unsigned positive) {
  const CodedPlace at(column);
  const int code = pairs[32 * at.half + at.byte] >> (2 * at.quarter) & 0x03;
  return scale * static_cast<float>(8 * code + 2 * static_cast<int>(positive) - CodesIQ1::kOffset);
}

}  // namespace

void decode(const BlockIQ1_S& block, float* out) { decode_iq1(block, block.scale, out); }
void decode(const BlockIQ1_M& block, float* out) { decode_iq1(block, block.block_scale(), out); }
void decode(const BlockIQ2_XXS& block, float* out) { decode_groups<2>(block, kIq2Values, out); }
void decode(const BlockIQ2_XS& block, float* out) { decode_groups<2>(block, kIq2Values, out); }
void decode(const BlockIQ2_S& block, float* out) { decode_groups<2>(block, kIq2Values, out); }
void decode(const BlockIQ3_XXS& block, float* out) { decode_groups<4>(block, kIq3XxsValues, out); }
void decode(const BlockIQ3_S& block, float* out) { decode_groups<4>(block, kIq3SValues, out); }

CodedIQ1_S encode(const BlockIQ1_S& block) {
  auto coded = encode_iq1<CodedIQ1_S>(block);
  coded.scale = block.scale;
  return coded;
}

CodedIQ1_M encode(const BlockIQ1_M& block) {
  auto coded = encode_iq1<CodedIQ1_M>(block);
  coded.scale = block.block_scale();
  return coded;
}

CodedIQ2_XXS encode(const BlockIQ2_XXS& block) {
  PairsAndSigns codes{};
  unsigned scales[8];
  for_each_group(block, [&](size_t i, uint32_t digits, unsigned signs, unsigned s) {
    codes.add(i, digits, signs);
    scales[i / 4] = s;
  });
  CodedIQ2_XXS coded{};
  coded.scale = block.scale;
  std::memcpy(coded.pairs, codes.pairs, sizeof coded.pairs);
  for (size_t i = 0; i < 8; ++i) {
    uint8_t& last = coded.pairs[8 * i + 7];
    const unsigned s = scales[i];
    last = static_cast<uint8_t>((last & ~kLowBits) | (s & 1) | (s & 2) << 1 | (s & 4) << 2 |
                                (s & 8) << 3);
  }
  for (size_t k = 0; k < 4; ++k) {
    std::memcpy(coded.signs + 4 * k, codes.signs + 8 * k, 4);
    std::memcpy(coded.signs + 16 + 3 * k, codes.signs + 8 * k + 4, 3);
  }
  return coded;
}

CodedIQ2 encode(const BlockIQ2_XS& block) { return encode_iq2(block); }
CodedIQ2 encode(const BlockIQ2_S& block) { return encode_iq2(block); }
CodedIQ3_XXS encode(const BlockIQ3_XXS& block) { return encode_iq3<CodedIQ3_XXS>(block); }
CodedIQ3_S encode(const BlockIQ3_S& block) { return encode_iq3<CodedIQ3_S>(block); }

void decode(const CodedIQ1_S& block, float* out) {
  for (size_t i = 0; i < CodedIQ1_S::kSize; ++i) {
    const unsigned s = nibble(block.scales, i / 32);
    const float scale = sub_scale(block.scale, s & 0x07u, CodedIQ1_S::kFactor);
    out[i] = iq1_weight(block, block.pairs, i, scale, s >> 3);
  }
}

void decode(const CodedIQ1_M& block, float* out) {
  for (size_t i = 0; i < CodedIQ1_M::kSize; ++i) {
    const CodedPlace at(i);
    const unsigned s = nibble(block.scales, i / 16) & 0x07u;
    const unsigned positive = nibble(block.positive, 4 * at.half + at.byte / 8) >> at.quarter;
    out[i] = iq1_weight(block, block.pairs, i, sub_scale(block.scale, s, CodedIQ1_M::kFactor),
                        positive & 0x01u);
  }
}

void decode(const CodedIQ2_XXS& block, float* out) {
  PairsAndSigns codes{};
  unsigned scales[8];
  std::memcpy(codes.pairs, block.pairs, sizeof codes.pairs);
  for (size_t i = 0; i < 8; ++i) {
    const unsigned last = block.pairs[8 * i + 7];
    scales[i] = (last & 1) | (last >> 1 & 2) | (last >> 2 & 4) | (last >> 3 & 8);
    make_even(codes.pairs + 8 * i, kLowBits);
  }
  for (size_t k = 0; k < 4; ++k) {
    std::memcpy(codes.signs + 8 * k, block.signs + 4 * k, 4);
    std::memcpy(codes.signs + 8 * k + 4, block.signs + 16 + 3 * k, 3);
    make_even(codes.signs + 8 * k, 0xff);
  }
  for (size_t i = 0; i < CodedIQ2_XXS::kSize; ++i) {
    out[i] = sub_scale(block.scale, scales[i / 32], CodedIQ2_XXS::kFactor) * codes.value(i);
  }
}

void decode(const CodedIQ2& block, float* out) {
  PairsAndSigns codes;
  std::memcpy(codes.pairs, block.pairs, sizeof codes.pairs);
  std::memcpy(codes.signs, block.signs, sizeof codes.signs);
  for (size_t i = 0; i < CodedIQ2::kSize; ++i) {
    out[i] =
        sub_scale(block.scale, nibble(block.scales, i / 16), CodedIQ2::kFactor) * codes.value(i);
  }
}

void decode(const CodedIQ3_XXS& block, float* out) { decode_iq3(block, out); }
void decode(const CodedIQ3_S& block, float* out) { decode_iq3(block, out); }

}  // namespace kinglet
