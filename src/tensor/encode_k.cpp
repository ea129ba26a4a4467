// Encodes Q2_K to Q6_K. It searches for each sub-block's scale with the least squared error, rounds
// the scales to values that the block can store, and computes the codes from the rounded scales.
#include "tensor/codecs.h"
#include "tensor/encoding.h"
#include "tensor/line_search.h"
#include "tensor/scale_search.h"

namespace kinglet {
namespace {

constexpr size_t kBlock = 256;

// --- Q2_K, Q4_K, Q5_K: w = scale * code - minimum, code and minimum >= 0

struct Q2Format {
  static constexpr size_t kSubBlock = 16;
  static constexpr float kMaxCode = 3.0f;
  static constexpr bool kAnyMinimum = false;
  static constexpr float kMaxSubScale = 15.0f;  // of a stored scale or minimum
  static constexpr int kUnitRounds = 3;         // with so few scales, refitting their unit pays off
};

template <int kCodes>
struct LargeFormat {
  static constexpr size_t kSubBlock = 32;
  static constexpr float kMaxCode = kCodes - 1;
  static constexpr bool kAnyMinimum = false;
  static constexpr float kMaxSubScale = 63.0f;
  static constexpr int kUnitRounds = 0;
};
using Q4Format = LargeFormat<16>;
using Q5Format = LargeFormat<32>;

template <class Format>
float squared_error(const float* in, const float* importance, const Line& line) {
  float sum = 0.0f;
  for (size_t i = 0; i < Format::kSubBlock; ++i) {
    const float code = nearest_code(in[i], line, Format::kMaxCode);
    const float error = line.scale * code - line.minimum - in[i];
    sum += importance[i] * error * error;
  }
  return sum;
}

// Returns the best stored scale and minimum, in the block's units. It tries the neighbours of the
// rounded numbers too, because one of the two can make up for the rounding error of the other.
template <class Format>
Line nearest_sub_scale(const float* in, const float* importance, const Line& line, const Line& unit,
                       float& best_error) {
  constexpr float kMax = Format::kMaxSubScale;
  const float scale = to_code(line.scale * inverse(unit.scale) + 0.5f, kMax);
  const float minimum = to_code(line.minimum * inverse(unit.minimum) + 0.5f, kMax);
  Line best;  // stays zero if weights are so small that the unit was rounded to 0
  best_error = squared_error<Format>(in, importance, {});
  for (float s = scale - 1.0f; s <= scale + 1.0f; s += 1.0f) {
    for (float m = minimum - 1.0f; m <= minimum + 1.0f; m += 1.0f) {
      if (s < 0.0f || s > kMax || m < 0.0f || m > kMax) continue;
      const float error = squared_error<Format>(in, importance, {unit.scale * s, unit.minimum * m});
      if (error < best_error) {
        best = {s, m};
        best_error = error;
      }
    }
  }
  return best;
}

// A block's units, and the scales and minima of its sub-blocks as multiples of these units.
template <class Format>
struct LineBlock {
  static constexpr size_t kCount = kBlock / Format::kSubBlock;

  Half scale;
  Half minimum;
  Line sub_scales[kCount];

  void fit(const float* in, const float* importance) {
    Line lines[kCount];
    Line largest;
    for (size_t i = 0; i < kCount; ++i) {
      lines[i] = fit_line<Format>(in + i * Format::kSubBlock, importance + i * Format::kSubBlock);
      largest.scale = std::max(largest.scale, lines[i].scale);
      largest.minimum = std::max(largest.minimum, lines[i].minimum);
    }
    set_unit({largest.scale / Format::kMaxSubScale, largest.minimum / Format::kMaxSubScale});
    float error = round_lines(in, importance, lines);
    for (int round = 0; round < Format::kUnitRounds; ++round) {
      LineBlock next;
      next.set_unit(refitted_unit(in, importance));
      const float next_error = next.round_lines(in, importance, lines);
      if (!(next_error < error)) break;
      *this = next;
      error = next_error;
    }
  }

  // The code of weight i.
  uint8_t code(const float* in, size_t i) const {
    return nearest_code(in[i], line(i / Format::kSubBlock), Format::kMaxCode);
  }

 private:
  void set_unit(const Line& unit) {
    scale = to_half(unit.scale);
    minimum = to_half(unit.minimum);
  }

  Line unit() const { return {to_float(scale), to_float(minimum)}; }

  Line line(size_t i) const {
    return {to_float(scale) * sub_scales[i].scale, to_float(minimum) * sub_scales[i].minimum};
  }

  // Rounds the lines to multiples of the units; returns the squared error.
  float round_lines(const float* in, const float* importance, const Line* lines) {
    float sum = 0.0f;
    for (size_t i = 0; i < kCount; ++i) {
      float error;
      sub_scales[i] = nearest_sub_scale<Format>(
          in + i * Format::kSubBlock, importance + i * Format::kSubBlock, lines[i], unit(), error);
      sum += error;
    }
    return sum;
  }

  // The least-squares units for the current scales, minima and codes: w = scale * a - minimum * b,
  // where a is a stored scale times a code, and b is a stored minimum.
  Line refitted_unit(const float* in, const float* importance) const {
    float aa = 0, ab = 0, bb = 0, aw = 0, bw = 0;
    for (size_t i = 0; i < kBlock; ++i) {
      const Line& sub_scale = sub_scales[i / Format::kSubBlock];
      const float a = sub_scale.scale * code(in, i);
      const float b = sub_scale.minimum;
      const float weighted_a = importance[i] * a;
      const float weighted_b = importance[i] * b;
      aa += weighted_a * a;
      ab += weighted_a * b;
      bb += weighted_b * b;
      aw += weighted_a * in[i];
      bw += weighted_b * in[i];
    }
    const float determinant = aa * bb - ab * ab;
    if (!(determinant > 0.0f)) return unit();
    return {std::max(0.0f, (bb * aw - ab * bw) / determinant),
            std::max(0.0f, (ab * aw - aa * bw) / determinant)};
  }
};

// The inverse of ScalesAndMinima::scale() and minimum(). The bytes must be 0 at first.
void store(ScalesAndMinima& scales, size_t i, unsigned scale, unsigned minimum) {
  const auto set = [&scales](size_t at, unsigned bits) {
    scales.bytes[at] = static_cast<uint8_t>(scales.bytes[at] | bits);
  };
  if (i < 4) {
    set(i, scale);
    set(i + 4, minimum);
  } else {
    set(i + 4, (scale & 0x0f) | (minimum & 0x0f) << 4);
    set(i - 4, scale >> 4 << 6);
    set(i, minimum >> 4 << 6);
  }
}

// Sets the block's scales, and writes the code of each weight to `codes`.
template <class Format, class Block>
void encode_lines(const float* in, const float* importance, Block& block,
                  uint8_t (&codes)[kBlock]) {
  LineBlock<Format> lines;
  lines.fit(in, importance);
  block.scale = lines.scale;
  block.minimum_scale = lines.minimum;
  block.scales = {};
  for (size_t i = 0; i < lines.kCount; ++i) {
    store(block.scales, i, static_cast<unsigned>(lines.sub_scales[i].scale),
          static_cast<unsigned>(lines.sub_scales[i].minimum));
  }
  for (size_t i = 0; i < kBlock; ++i) codes[i] = lines.code(in, i);
}

void pack_nibbles(const uint8_t* codes, uint8_t* nibbles) {
  for (size_t i = 0; i < kBlock; i += 64) {
    for (size_t j = 0; j < 32; ++j) {
      *nibbles++ = static_cast<uint8_t>((codes[i + j] & 0x0f) | (codes[i + 32 + j] & 0x0f) << 4);
    }
  }
}

// --- Q3_K, Q6_K: w = scale * code, code from -kCodes to kCodes - 1

// The magnitudes are around 32: of the two ends, -32 is a code, and 32 is one too many.
struct Q6Codes : SignedCodes<32> {
  static constexpr float kFirst = 30.2f;
  static constexpr float kStep = 0.2f;
  static constexpr int kTries = 19;
  static constexpr int kUnitRounds = 0;
};

struct Q3Codes : SignedCodes<4> {
  static constexpr float kFirst = 2.2f;
  static constexpr float kStep = 0.15f;
  static constexpr int kTries = 19;
  static constexpr int kUnitRounds = 3;
};

// --- Packing

// Packs bit `bit` of code i, its uppermost one, as bit i / 32 of high_bits[i % 32].
void pack_high_bits(const uint8_t* codes, int bit, uint8_t (&high_bits)[kBlock / 8]) {
  std::fill_n(high_bits, kBlock / 8, uint8_t{0});
  for (size_t i = 0; i < kBlock; ++i) {
    uint8_t& bits = high_bits[i % 32];
    bits = static_cast<uint8_t>(bits | (codes[i] >> bit & 1) << (i / 32));
  }
}

void pack_six_bits(const uint8_t* codes, BlockQ6_K& block) {
  for (size_t half = 0; half < 2; ++half, codes += 128) {
    for (size_t i = 0; i < 64; ++i) {
      block.low_nibbles[half * 64 + i] =
          static_cast<uint8_t>((codes[i] & 0x0f) | (codes[i + 64] & 0x0f) << 4);
    }
    for (size_t i = 0; i < 32; ++i) {
      block.high_pairs[half * 32 + i] =
          static_cast<uint8_t>(codes[i] >> 4 | codes[i + 32] >> 4 << 2 | codes[i + 64] >> 4 << 4 |
                               codes[i + 96] >> 4 << 6);
    }
  }
}

// The inverse of Q3KScales::scale(). The bytes must be 0 at first.
void store(Q3KScales& scales, size_t i, int scale) {
  const int bits = scale + 32;
  uint8_t& low = scales.bytes[i % 8];
  uint8_t& high = scales.bytes[8 + i % 4];
  low = static_cast<uint8_t>(low | (bits & 0x0f) << (i / 8 * 4));
  high = static_cast<uint8_t>(high | bits >> 4 << (i / 4 * 2));
}

}  // namespace

void encode(const float* in, const float* importance, BlockQ2_K& block) {
  LineBlock<Q2Format> lines;
  lines.fit(in, importance);
  block.scale = lines.scale;
  block.minimum_scale = lines.minimum;
  for (size_t i = 0; i < lines.kCount; ++i) {
    block.scales[i] = static_cast<uint8_t>(static_cast<unsigned>(lines.sub_scales[i].scale) |
                                           static_cast<unsigned>(lines.sub_scales[i].minimum) << 4);
  }
  uint8_t codes[kBlock];
  for (size_t i = 0; i < kBlock; ++i) codes[i] = lines.code(in, i);
  pack_pairs(codes, block.pairs);
}

void encode(const float* in, const float* importance, BlockQ3_K& block) {
  ScaledBlock<Q3Codes, 16, 16, 32> scaled;
  scaled.fit(in, importance);
  block.scale = scaled.unit;
  block.scales = {};
  for (size_t i = 0; i < 16; ++i) store(block.scales, i, scaled.scales[i]);
  uint8_t codes[kBlock];
  for (size_t i = 0; i < kBlock; ++i) codes[i] = static_cast<uint8_t>(scaled.code(in, i) + 4.0f);
  pack_pairs(codes, block.pairs);
  pack_high_bits(codes, 2, block.high_bits);
}

void encode(const float* in, const float* importance, BlockQ4_K& block) {
  uint8_t codes[kBlock];
  encode_lines<Q4Format>(in, importance, block, codes);
  pack_nibbles(codes, block.nibbles);
}

void encode(const float* in, const float* importance, BlockQ5_K& block) {
  uint8_t codes[kBlock];
  encode_lines<Q5Format>(in, importance, block, codes);
  pack_nibbles(codes, block.nibbles);
  pack_high_bits(codes, 4, block.high_bits);
}

void encode(const float* in, const float* importance, BlockQ6_K& block) {
  ScaledBlock<Q6Codes, 16, 16, 128> scaled;
  scaled.fit(in, importance);
  block.scale = scaled.unit;
  for (size_t i = 0; i < 16; ++i) block.scales[i] = static_cast<int8_t>(scaled.scales[i]);
  uint8_t codes[kBlock];
  for (size_t i = 0; i < kBlock; ++i) codes[i] = static_cast<uint8_t>(scaled.code(in, i) + 32.0f);
  pack_six_bits(codes, block);
}

}  // namespace kinglet
