// Decodes Q1_0, TQ1_0, TQ2_0, Q2_0, PTQ1_0 and PQ2_0: weights are -1, 0, 1 or 2 times a scale.
#include "tensor/codecs.h"

namespace kinglet {
namespace {

// Writes n_digits * n_bytes weights: the first digit of every byte, then the second, and so on.
// If it were inlined and unrolled, it would add more than 12 KB of wasm.
[[gnu::noinline]] float* decode_digits(const uint8_t* bytes, size_t n_bytes, size_t n_digits,
                                       float scale, float* out) {
  unsigned power = 1;  // of 3
  for (size_t digit = 0; digit < n_digits; ++digit, power *= 3) {
    for (size_t i = 0; i < n_bytes; ++i) {
      const unsigned fraction = bytes[i] * power & 0xffu;
      *out++ = scale * static_cast<float>(static_cast<int>(fraction * 3 >> 8) - 1);
    }
  }
  return out;
}

template <class Block>
void decode_pairs(const Block& block, float* out) {
  const float scale = to_float(block.scale);
  for (size_t i = 0; i < Block::kSize; ++i) {
    const int code = block.pairs[i / 4] >> (i % 4 * 2) & 0x03;
    out[i] = scale * static_cast<float>(code - 1);
  }
}

}  // namespace

void decode(const BlockQ1_0& block, float* out) {
  const float scale = to_float(block.scale);
  for (size_t i = 0; i < BlockQ1_0::kSize; ++i) {
    const bool is_plus = (block.bits[i / 8] >> (i % 8) & 0x01) != 0;
    out[i] = is_plus ? scale : -scale;
  }
}

void decode(const BlockQ2_0& block, float* out) { decode_pairs(block, out); }
void decode(const BlockPQ2_0& block, float* out) { decode_pairs(block, out); }

void decode(const BlockTQ1_0& block, float* out) {
  const float scale = to_float(block.scale);
  out = decode_digits(block.fives, 32, 5, scale, out);
  out = decode_digits(block.fives + 32, 16, 5, scale, out);
  decode_digits(block.fours, 4, 4, scale, out);
}

void decode(const BlockPTQ1_0& block, float* out) {
  const float scale = to_float(block.scale);
  out = decode_digits(block.fives, 16, 5, scale, out);
  out = decode_digits(block.fives + 16, 8, 5, scale, out);
  decode_digits(block.fours, 2, 4, scale, out);
}

void decode(const BlockTQ2_0& block, float* out) {
  const float scale = to_float(block.scale);
  for (size_t half = 0; half < 2; ++half) {
    for (int shift = 0; shift < 8; shift += 2) {
      for (size_t i = 0; i < 32; ++i) {
        const int code = block.pairs[half * 32 + i] >> shift & 0x03;
        *out++ = scale * static_cast<float>(code - 1);
      }
    }
  }
}

}  // namespace kinglet
