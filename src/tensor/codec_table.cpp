// Decodes IQ4_NL, IQ4_XS, MXFP4 and NVFP4: 4-bit codes are indices of a table.
#include "tensor/codecs.h"

namespace kinglet {
namespace {

// Writes 2 * kBytes weights from kBytes bytes of nibbles.
template <size_t kBytes = 16>
void decode_nibbles(const uint8_t* codes, const int8_t (&values)[16], float scale, float* out) {
  for (size_t i = 0; i < kBytes; ++i) {
    out[i] = scale * static_cast<float>(values[codes[i] & 0x0f]);
    out[i + kBytes] = scale * static_cast<float>(values[codes[i] >> 4]);
  }
}

}  // namespace

void decode(const BlockIQ4_NL& block, float* out) {
  decode_nibbles(block.codes, kIq4Values, to_float(block.scale), out);
}

void decode(const BlockIQ4_XS& block, float* out) {
  for (size_t sub_block = 0; sub_block < BlockIQ4_XS::kSize / 32; ++sub_block) {
    const int low = block.scale_nibbles[sub_block / 2] >> (sub_block % 2 * 4) & 0x0f;
    const int high = block.scale_pairs >> (sub_block * 2) & 0x03;
    const float scale = to_float(block.scale) * static_cast<float>((high << 4 | low) - 32);
    decode_nibbles(block.nibbles + sub_block * 16, kIq4Values, scale, out + sub_block * 32);
  }
}

void decode(const BlockMXFP4& block, float* out) {
  decode_nibbles(block.codes, kMxfp4Values, block.scale(), out);
}

void decode(const BlockNVFP4& block, float* out) {
  for (size_t i = 0; i < BlockNVFP4::kSize / 16; ++i) {
    decode_nibbles<8>(block.nibbles + 8 * i, kMxfp4Values, block.scale(i), out + 16 * i);
  }
}

}  // namespace kinglet
