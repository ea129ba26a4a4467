// Encodes Q1_0, TQ1_0, TQ2_0 and Q2_0 by the rules of ggml. For Q1_0, the scale is the mean
// magnitude, and the bit is the sign. For the others, the scale is the largest magnitude; weights
// whose magnitude is nearer to the scale than to 0 become ± scale, all others 0. (So no weight gets
// the code 3 of Q2_0.)
#include "tensor/codecs.h"
#include "tensor/encoding.h"

namespace kinglet {
namespace {

template <size_t kSize>
struct Ternary {
  Half scale;
  uint8_t codes[kSize];
};

template <size_t kSize>
Ternary<kSize> round_ternary(const float* in) {
  const float scale = std::fabs(extreme(in, kSize));
  const float inverse_scale = inverse(scale);
  Ternary<kSize> ternary;
  ternary.scale = to_half(scale);
  for (size_t i = 0; i < kSize; ++i) {
    ternary.codes[i] = to_code(std::round(in[i] * inverse_scale) + 1.0f, 2.0f);
  }
  return ternary;
}

// Packs n_digits * n_bytes codes, which are in the order that decode() of BlockTQ1_0 writes. Five
// base-3 digits make the fraction byte / 256, rounded up. Returns a pointer to the next codes.
const uint8_t* pack_digits(const uint8_t* codes, size_t n_bytes, size_t n_digits, uint8_t* bytes) {
  for (size_t i = 0; i < n_bytes; ++i) {
    unsigned digits = 0;
    for (size_t digit = 0; digit < 5; ++digit) {
      digits = digits * 3 + (digit < n_digits ? codes[digit * n_bytes + i] : 0u);
    }
    bytes[i] = static_cast<uint8_t>((digits * 256 + 242) / 243);
  }
  return codes + n_digits * n_bytes;
}

}  // namespace

void encode(const float* in, BlockQ1_0& block) {
  float sum = 0.0f;
  for (size_t i = 0; i < BlockQ1_0::kSize; ++i) sum += std::fabs(in[i]);
  block.scale = to_half(sum / float{BlockQ1_0::kSize});
  for (size_t i = 0; i < sizeof block.bits; ++i) {
    unsigned bits = 0;
    for (unsigned j = 0; j < 8; ++j) bits |= (in[8 * i + j] >= 0.0f ? 1u : 0u) << j;
    block.bits[i] = static_cast<uint8_t>(bits);
  }
}

void encode(const float* in, BlockQ2_0& block) {
  const auto ternary = round_ternary<BlockQ2_0::kSize>(in);
  block.scale = ternary.scale;
  for (size_t i = 0; i < sizeof block.pairs; ++i) {
    const uint8_t* codes = ternary.codes + 4 * i;
    block.pairs[i] = static_cast<uint8_t>(codes[0] | codes[1] << 2 | codes[2] << 4 | codes[3] << 6);
  }
}

void encode(const float* in, BlockTQ1_0& block) {
  const auto ternary = round_ternary<BlockTQ1_0::kSize>(in);
  block.scale = ternary.scale;
  const uint8_t* codes = pack_digits(ternary.codes, 32, 5, block.fives);
  codes = pack_digits(codes, 16, 5, block.fives + 32);
  pack_digits(codes, 4, 4, block.fours);
}

void encode(const float* in, BlockTQ2_0& block) {
  const auto ternary = round_ternary<BlockTQ2_0::kSize>(in);
  block.scale = ternary.scale;
  pack_pairs(ternary.codes, block.pairs);
}

}  // namespace kinglet
