// Encoding TQ1_0 and TQ2_0 by the rule of ggml: the scale is the largest magnitude, and what is
// nearer to it than to 0 becomes it.
#include "tensor/codecs.h"
#include "tensor/encoding.h"

namespace kinglet {
namespace {

struct Ternary {
  Half scale;
  uint8_t codes[BlockTQ1_0::kSize];
};

Ternary round_ternary(const float* in) {
  const float scale = std::fabs(extreme(in, BlockTQ1_0::kSize));
  const float inverse_scale = inverse(scale);
  Ternary ternary;
  ternary.scale = to_half(scale);
  for (size_t i = 0; i < BlockTQ1_0::kSize; ++i) {
    ternary.codes[i] = to_code(std::round(in[i] * inverse_scale) + 1.0f, 2.0f);
  }
  return ternary;
}

// Of n_digits * n_bytes codes, which stand as decode() of BlockTQ1_0 writes them: byte / 256 is the
// fraction that the digits make in base 3, of five, rounded up.
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

void encode(const float* in, BlockTQ1_0& block) {
  const Ternary ternary = round_ternary(in);
  block.scale = ternary.scale;
  const uint8_t* codes = pack_digits(ternary.codes, 32, 5, block.fives);
  codes = pack_digits(codes, 16, 5, block.fives + 32);
  pack_digits(codes, 4, 4, block.fours);
}

void encode(const float* in, BlockTQ2_0& block) {
  const Ternary ternary = round_ternary(in);
  block.scale = ternary.scale;
  pack_pairs(ternary.codes, block.pairs);
}

}  // namespace kinglet
