// Decodes the IQ1, IQ2 and IQ3 types: groups of weights are numbers of codebook vectors.
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

// Writes kDigits weights: scale * values[digit], negated if the weight's bit of `signs` is set.
template <size_t kDigits>
void write_group(CodebookVector vector, const float* values, unsigned signs, float scale,
                 float* out) {
  constexpr size_t kBits = 16 / kDigits;
  for (size_t i = 0; i < kDigits; ++i) {
    const float value = scale * values[vector >> (i * kBits) & ((1u << kBits) - 1)];
    // A branch on random signs would cost more than all the rest.
    out[i] = bit_cast<float>(bit_cast<uint32_t>(value) ^ (signs >> i & 1u) << 31);
  }
}

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

float odd_scale(Half scale, unsigned s) { return to_float(scale) * static_cast<float>(2 * s + 1); }

float iq2_scale(Half scale, unsigned s) {
  return to_float(scale) * (static_cast<float>(s) + 0.5f) * 0.25f;
}

float iq3_xxs_scale(Half scale, unsigned s) {
  return to_float(scale) * (static_cast<float>(s) + 0.5f) * 0.5f;
}

}  // namespace

void decode(const BlockIQ1_S& block, float* out) {
  const CodebookVector* codebook = iq1_codebook();
  for (size_t group = 0; group < BlockIQ1_S::kSize / 8; ++group, out += 8) {
    const unsigned word = block.high[group / 4];
    const unsigned high = word >> (group % 4 * 3) & 0x07u;
    write_group<8>(codebook[high << 8 | block.low[group]], kIq1Values[word >> 15], 0,
                   odd_scale(block.scale, word >> 12 & 0x07u), out);
  }
}

void decode(const BlockIQ1_M& block, float* out) {
  const CodebookVector* codebook = iq1_codebook();
  const Half block_scale = block.block_scale();
  for (size_t group = 0; group < BlockIQ1_M::kSize / 8; ++group, out += 8) {
    const size_t sub_block = group / 2;
    const unsigned s = block.scales[sub_block / 4] >> (sub_block % 4 * 3) & 0x07u;
    const unsigned high = nibble(block.high, group);
    write_group<8>(codebook[(high & 0x07u) << 8 | block.low[group]], kIq1Values[high >> 3], 0,
                   odd_scale(block_scale, s), out);
  }
}

void decode(const BlockIQ2_XXS& block, float* out) {
  const CodebookVector* codebook = iq2_xxs_codebook();
  for (const BlockIQ2_XXS::SubBlock& sub_block : block.sub_blocks) {
    const uint32_t word = sub_block.signs_and_scale;
    const float scale = iq2_scale(block.scale, word >> 28);
    for (size_t group = 0; group < 4; ++group, out += 8) {
      write_group<8>(codebook[sub_block.vectors[group]], kIq2Values,
                     even_signs(word >> (7 * group)), scale, out);
    }
  }
}

void decode(const BlockIQ2_XS& block, float* out) {
  const CodebookVector* codebook = iq2_xs_codebook();
  for (size_t group = 0; group < BlockIQ2_XS::kSize / 8; ++group, out += 8) {
    const unsigned word = block.vectors_and_signs[group];
    write_group<8>(codebook[word & 0x1ffu], kIq2Values, even_signs(word >> 9),
                   iq2_scale(block.scale, nibble(block.scales, group / 2)), out);
  }
}

void decode(const BlockIQ2_S& block, float* out) {
  const CodebookVector* codebook = iq2_s_codebook();
  for (size_t group = 0; group < BlockIQ2_S::kSize / 8; ++group, out += 8) {
    const unsigned high = block.high[group / 4] >> (group % 4 * 2) & 0x03u;
    write_group<8>(codebook[high << 8 | block.low[group]], kIq2Values, block.signs[group],
                   iq2_scale(block.scale, nibble(block.scales, group / 2)), out);
  }
}

void decode(const BlockIQ3_XXS& block, float* out) {
  const CodebookVector* codebook = iq3_xxs_codebook();
  for (size_t pair = 0; pair < BlockIQ3_XXS::kSize / 8; ++pair, out += 8) {
    const uint32_t word = block.signs_and_scales[pair / 4];
    const unsigned signs = even_signs(word >> (pair % 4 * 7));
    const float scale = iq3_xxs_scale(block.scale, word >> 28);
    const uint8_t* vectors = block.vectors + 2 * pair;
    write_group<4>(codebook[vectors[0]], kIq3XxsValues, signs, scale, out);
    write_group<4>(codebook[vectors[1]], kIq3XxsValues, signs >> 4, scale, out + 4);
  }
}

void decode(const BlockIQ3_S& block, float* out) {
  const CodebookVector* codebook = iq3_s_codebook();
  for (size_t group = 0; group < BlockIQ3_S::kSize / 4; ++group, out += 4) {
    const unsigned high = block.high[group / 8] >> (group % 8) & 0x01u;
    write_group<4>(codebook[high << 8 | block.low[group]], kIq3SValues, nibble(block.signs, group),
                   odd_scale(block.scale, nibble(block.scales, group / 8)), out);
  }
}

}  // namespace kinglet
