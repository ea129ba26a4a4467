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

// The place of a weight, or of the first one of a group, in blocks that have pairs as in Q2_K.
struct CodedPlace {
  size_t half;
  size_t quarter;
  size_t byte;  // of the quarter

  explicit CodedPlace(size_t column)
      : half(column / 128), quarter(column % 128 / 32), byte(column % 32) {}
};

// Where a column's code is in the words of IQ2: in a nibble of `even`, or, except for its high bit,
// in a pair of `odd`.
struct Iq2Place {
  size_t byte;
  size_t word;      // of `even`
  unsigned nibble;  // its first bit
  unsigned pair;    // its first bit
  bool is_odd;

  explicit Iq2Place(size_t column) : byte(column % 4) {
    const size_t step = column % 32 / 4;
    word = step / 4;
    nibble = static_cast<unsigned>(step % 4 / 2 * 4);
    pair = static_cast<unsigned>(nibble + 2 * word);
    is_odd = step % 2 != 0;
  }
};

void add_code(CodesIQ2::Words& words, size_t column, unsigned code) {
  const Iq2Place at(column);
  uint8_t& even = words.even[at.word][at.byte];
  if (at.is_odd) {
    even = static_cast<uint8_t>(even | (code >> 2) << (at.nibble + 3));
    words.odd[at.byte] = static_cast<uint8_t>(words.odd[at.byte] | (code & 0x03u) << at.pair);
  } else {
    even = static_cast<uint8_t>(even | code << at.nibble);
  }
}

float iq2_value(const CodesIQ2::Words& words, size_t column) {
  const Iq2Place at(column);
  const unsigned nibble = words.even[at.word][at.byte] >> at.nibble & 0x0fu;
  const unsigned odd = (words.odd[at.byte] >> at.pair & 0x03u) | (nibble >> 3) << 2;
  return CodesIQ2::kValues[at.is_odd ? odd : nibble & 0x07u];
}

// Writes the words of all sub-blocks and calls set_scale(sub-block of 16, s).
template <class Block, class F>
void encode_iq2(const Block& block, CodesIQ2::Words (&words)[8], const F& set_scale) {
  for_each_group(block, [&](size_t i, uint32_t digits, unsigned signs, unsigned s) {
    for (size_t j = 0; j < 8; ++j) {
      const unsigned digit = digits >> (2 * j) & 0x03u;
      const unsigned code = (digit & 1u) | (signs >> j & 1u) << 1 | (digit >> 1) << 2;
      add_code(words[i / 4], 8 * i + j, code);
    }
    if (i % 2 == 0) set_scale(i / 2, s);
  });
}

template <class Block>
CodedIQ2 encode_iq2(const Block& block) {
  CodedIQ2 coded{};
  coded.scale = block.scale;
  encode_iq2(block, coded.words, [&](size_t i, unsigned s) { add_nibble(coded.scales, i, s); });
  return coded;
}

// Sets the last byte of the odd codes so that in each group an even number of each bit is set.
void make_even(CodesIQ2::Words& words) {
  unsigned bits = 0;
  for (size_t j = 0; j < 4; ++j) {
    bits ^= (words.even[0][j] & 0x33u) ^ (words.even[1][j] & 0x33u) << 2;
    if (j < 3) bits ^= words.odd[j];
  }
  words.odd[3] = static_cast<uint8_t>(bits);
}

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
  CodesIQ2::Words words[8] = {};
  unsigned scales[8];
  encode_iq2(block, words, [&](size_t i, unsigned s) { scales[i / 2] = s; });
  CodedIQ2_XXS coded;
  coded.scale = block.scale;
  const uint8_t* left = words[7].even[1];
  for (size_t i = 0; i < 8; ++i) {
    words[i].odd[3] = static_cast<uint8_t>(scales[i] | nibble(left, i) << 4);
  }
  std::memcpy(coded.words, words, sizeof coded.words);
  std::memcpy(coded.last_even, words[7].even[0], sizeof coded.last_even);
  std::memcpy(coded.last_odd, words[7].odd, sizeof coded.last_odd);
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
  CodesIQ2::Words words[8] = {};
  std::memcpy(words, block.words, sizeof block.words);
  std::memcpy(words[7].even[0], block.last_even, sizeof block.last_even);
  std::memcpy(words[7].odd, block.last_odd, sizeof block.last_odd);
  for (size_t i = 0; i < 8; ++i) add_nibble(words[7].even[1], i, words[i].odd[3] >> 4);
  for (size_t i = 0; i < 8; ++i) {
    const float scale = sub_scale(block.scale, words[i].odd[3] & 0x0fu, CodedIQ2_XXS::kFactor);
    make_even(words[i]);
    for (size_t j = 0; j < 32; ++j) *out++ = scale * iq2_value(words[i], j);
  }
}

void decode(const CodedIQ2& block, float* out) {
  for (size_t i = 0; i < CodedIQ2::kSize; ++i) {
    const float scale = sub_scale(block.scale, nibble(block.scales, i / 16), CodedIQ2::kFactor);
    out[i] = scale * iq2_value(block.words[i / 32], i);
  }
}

void decode(const CodedIQ3_XXS& block, float* out) { decode_iq3(block, out); }
void decode(const CodedIQ3_S& block, float* out) { decode_iq3(block, out); }

}  // namespace kinglet
