// Decodes Q2_K, Q3_K, Q4_K, Q5_K and Q6_K, sub-block by sub-block.
#include "tensor/codecs.h"

namespace kinglet {
namespace {

// The first byte and the shift of the bit pairs of 16 weights in Q2_K and Q3_K.
struct PairPlace {
  size_t byte;
  int shift;
};

PairPlace pair_place(size_t sub_block) {
  return {sub_block / 8 * 32 + sub_block % 2 * 16, static_cast<int>(sub_block % 8 / 2 * 2)};
}

}  // namespace

void decode(const BlockQ2_K& block, float* out) {
  for (size_t sub_block = 0; sub_block < BlockQ2_K::kSize / 16; ++sub_block) {
    const uint8_t scales = block.scales[sub_block];
    const float scale = to_float(block.scale) * static_cast<float>(scales & 0x0f);
    const float minimum = to_float(block.minimum_scale) * static_cast<float>(scales >> 4);
    const auto [byte, shift] = pair_place(sub_block);
    for (size_t i = 0; i < 16; ++i) {
      const int code = block.pairs[byte + i] >> shift & 0x03;
      *out++ = scale * static_cast<float>(code) - minimum;
    }
  }
}

void decode(const BlockQ3_K& block, float* out) {
  for (size_t sub_block = 0; sub_block < BlockQ3_K::kSize / 16; ++sub_block) {
    const float scale = to_float(block.scale) * static_cast<float>(block.scales.scale(sub_block));
    const auto [byte, shift] = pair_place(sub_block);
    for (size_t i = 0; i < 16; ++i) {
      const int low = block.pairs[byte + i] >> shift & 0x03;
      const int high = block.high_bits[sub_block % 2 * 16 + i] >> (sub_block / 2) & 0x01;
      *out++ = scale * static_cast<float>((high << 2 | low) - 4);
    }
  }
}

void decode(const BlockQ4_K& block, float* out) {
  for (size_t sub_block = 0; sub_block < BlockQ4_K::kSize / 32; ++sub_block) {
    const float scale = to_float(block.scale) * static_cast<float>(block.scales.scale(sub_block));
    const float minimum =
        to_float(block.minimum_scale) * static_cast<float>(block.scales.minimum(sub_block));
    const uint8_t* nibbles = block.nibbles + sub_block / 2 * 32;
    const int shift = sub_block % 2 == 0 ? 0 : 4;
    for (size_t i = 0; i < 32; ++i) {
      *out++ = scale * static_cast<float>(nibbles[i] >> shift & 0x0f) - minimum;
    }
  }
}

void decode(const BlockQ5_K& block, float* out) {
  for (size_t sub_block = 0; sub_block < BlockQ5_K::kSize / 32; ++sub_block) {
    const float scale = to_float(block.scale) * static_cast<float>(block.scales.scale(sub_block));
    const float minimum =
        to_float(block.minimum_scale) * static_cast<float>(block.scales.minimum(sub_block));
    const uint8_t* nibbles = block.nibbles + sub_block / 2 * 32;
    const int shift = sub_block % 2 == 0 ? 0 : 4;
    for (size_t i = 0; i < 32; ++i) {
      const int low = nibbles[i] >> shift & 0x0f;
      const int high = block.high_bits[i] >> sub_block & 0x01;
      *out++ = scale * static_cast<float>(high << 4 | low) - minimum;
    }
  }
}

void decode(const BlockQ6_K& block, float* out) {
  for (size_t sub_block = 0; sub_block < BlockQ6_K::kSize / 16; ++sub_block) {
    const float scale = to_float(block.scale) * static_cast<float>(block.scales[sub_block]);
    const size_t half = sub_block / 8;
    const uint8_t* nibbles = block.low_nibbles + half * 64 + sub_block % 4 * 16;
    const uint8_t* pairs = block.high_pairs + half * 32 + sub_block % 2 * 16;
    const int nibble_shift = sub_block % 8 < 4 ? 0 : 4;
    const int pair_shift = static_cast<int>(sub_block % 8 / 2 * 2);
    for (size_t i = 0; i < 16; ++i) {
      const int low = nibbles[i] >> nibble_shift & 0x0f;
      const int high = pairs[i] >> pair_shift & 0x03;
      *out++ = scale * static_cast<float>((high << 4 | low) - 32);
    }
  }
}

}  // namespace kinglet
