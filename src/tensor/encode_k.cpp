// Encoding Q4_K, Q5_K, Q6_K. Each sub-block's scale is searched for the least squared error; then
// the scales are rounded to what the block can store, and the codes follow from those.
#include "tensor/codecs.h"
#include "tensor/encoding.h"

namespace kinglet {
namespace {

constexpr size_t kSubBlock = 32;  // of Q4_K and Q5_K
constexpr size_t kSubBlocks = BlockQ4_K::kSize / kSubBlock;
constexpr float kMaxSubScale = 63.0f;

// --- Q4_K and Q5_K: w = scale * code - minimum, code and minimum >= 0

struct Line {
  float scale = 0.0f;
  float minimum = 0.0f;
};

uint8_t nearest_code(float x, const Line& line, float max_code) {
  return to_code((x + line.minimum) * inverse(line.scale) + 0.5f, max_code);
}

float squared_error(const float* in, const Line& line, float max_code) {
  float sum = 0.0f;
  for (size_t i = 0; i < kSubBlock; ++i) {
    const float code = nearest_code(in[i], line, max_code);
    const float error = line.scale * code - line.minimum - in[i];
    sum += error * error;
  }
  return sum;
}

struct Fit {
  Line line;
  float explained = 0.0f;  // the sum of squares that is no error
};

// The least-squares line over the codes that `line` gives the weights.
Fit refit(const float* in, const Line& line, float max_code) {
  float codes = 0, squares = 0, weights = 0, products = 0;
  for (size_t i = 0; i < kSubBlock; ++i) {
    const float code = nearest_code(in[i], line, max_code);
    codes += code;
    squares += code * code;
    weights += in[i];
    products += code * in[i];
  }
  if (squares == 0.0f) return {};
  Line best{products / squares, 0.0f};
  constexpr float kCount = kSubBlock;
  const float determinant = kCount * squares - codes * codes;
  if (determinant > 0.0f) {
    const float scale = (kCount * products - codes * weights) / determinant;
    const float minimum = (scale * codes - weights) / kCount;
    if (minimum > 0.0f) best = {scale, minimum};
  }
  return {best, best.scale * products - best.minimum * weights};
}

// Starts from lines that let the largest codes overshoot or fall short by up to 1.5, keeps the best
// refitted one, and refits that until it no longer improves.
Line fit_line(const float* in, float max_code) {
  const auto [lowest, highest] = std::minmax_element(in, in + kSubBlock);
  const float minimum = std::max(0.0f, -*lowest);
  const float range = *highest + minimum;
  if (!(range > 0.0f)) return {0.0f, minimum};
  Fit best;
  for (int step = -15; step <= 15; ++step) {
    const float codes = max_code + 0.1f * static_cast<float>(step);
    const Fit fit = refit(in, {range / codes, minimum}, max_code);
    if (fit.explained > best.explained) best = fit;
  }
  for (int round = 0; round < 4; ++round) {
    const Fit fit = refit(in, best.line, max_code);
    if (!(fit.explained > best.explained)) break;
    best = fit;
  }
  return best.line;
}

// The inverse of ScalesAndMinima::scale() and minimum(), for bytes that began as 0.
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

// Numbers of a stored scale and minimum, in units of the block's.
struct SubScale {
  float scale = 0.0f;
  float minimum = 0.0f;
};

// The best of the numbers around the rounded ones: rounding one can be undone by the other.
SubScale nearest_sub_scale(const float* in, const Line& line, const Line& unit, float max_code) {
  const float scale = to_code(line.scale * inverse(unit.scale) + 0.5f, kMaxSubScale);
  const float minimum = to_code(line.minimum * inverse(unit.minimum) + 0.5f, kMaxSubScale);
  SubScale best;  // zeros, where weights are so small that the unit was rounded away
  float best_error = squared_error(in, {}, max_code);
  for (float s = scale - 1.0f; s <= scale + 1.0f; s += 1.0f) {
    for (float m = minimum - 1.0f; m <= minimum + 1.0f; m += 1.0f) {
      if (s < 0.0f || s > kMaxSubScale || m < 0.0f || m > kMaxSubScale) continue;
      const float error = squared_error(in, {unit.scale * s, unit.minimum * m}, max_code);
      if (error < best_error) {
        best = {s, m};
        best_error = error;
      }
    }
  }
  return best;
}

// Fills the block's scales, and `codes` with the code of each weight.
template <class Block>
void encode_lines(const float* in, float max_code, Block& block, uint8_t (&codes)[Block::kSize]) {
  Line lines[kSubBlocks];
  Line largest;
  for (size_t i = 0; i < kSubBlocks; ++i) {
    lines[i] = fit_line(in + i * kSubBlock, max_code);
    largest.scale = std::max(largest.scale, lines[i].scale);
    largest.minimum = std::max(largest.minimum, lines[i].minimum);
  }
  block.scale = to_half(largest.scale / kMaxSubScale);
  block.minimum_scale = to_half(largest.minimum / kMaxSubScale);
  block.scales = {};
  const Line unit{to_float(block.scale), to_float(block.minimum_scale)};
  for (size_t i = 0; i < kSubBlocks; ++i) {
    const float* weights = in + i * kSubBlock;
    const SubScale sub_scale = nearest_sub_scale(weights, lines[i], unit, max_code);
    store(block.scales, i, static_cast<unsigned>(sub_scale.scale),
          static_cast<unsigned>(sub_scale.minimum));
    const Line line{unit.scale * sub_scale.scale, unit.minimum * sub_scale.minimum};
    for (size_t j = 0; j < kSubBlock; ++j) {
      codes[i * kSubBlock + j] = nearest_code(weights[j], line, max_code);
    }
  }
}

void pack_nibbles(const uint8_t* codes, uint8_t* nibbles) {
  for (size_t i = 0; i < BlockQ4_K::kSize; i += 64) {
    for (size_t j = 0; j < 32; ++j) {
      *nibbles++ = static_cast<uint8_t>((codes[i + j] & 0x0f) | (codes[i + 32 + j] & 0x0f) << 4);
    }
  }
}

// --- Q6_K: w = scale * code, code from -32 to 31

constexpr size_t kQ6SubBlock = 16;
constexpr size_t kQ6SubBlocks = BlockQ6_K::kSize / kQ6SubBlock;

float signed_code(float x, float scale) {
  return static_cast<float>(to_code(x * inverse(scale) + 32.5f, 63.0f)) - 32.0f;
}

float squared_error(const float* in, float scale) {
  float sum = 0.0f;
  for (size_t i = 0; i < kQ6SubBlock; ++i) {
    const float error = scale * signed_code(in[i], scale) - in[i];
    sum += error * error;
  }
  return sum;
}

// Tries scales at which the largest magnitude becomes about -32, or 32, which is one too many for
// it; each is refitted to the codes it gives, for which the least-squares scale is sum(code * w) /
// sum(code²).
float fit_scale(const float* in) {
  const float largest = extreme(in, kQ6SubBlock);
  float best = 0.0f;
  float best_explained = 0.0f;  // the sum of squares that is no error
  for (int step = -18; step <= 19; ++step) {
    const float codes = (step % 2 == 0 ? -32.0f : 32.0f) + 0.1f * static_cast<float>(step);
    const float start = largest / codes;
    float products = 0, squares = 0;
    for (size_t i = 0; i < kQ6SubBlock; ++i) {
      const float code = signed_code(in[i], start);
      products += code * in[i];
      squares += code * code;
    }
    if (products * products > best_explained * squares) {
      best = products / squares;
      best_explained = products * best;
    }
  }
  return best;
}

float nearest_sub_scale(const float* in, float scale, float unit) {
  const float rounded = std::min(std::max(-128.0f, std::round(scale * inverse(unit))), 127.0f);
  float best = 0.0f;
  float best_error = squared_error(in, best);
  for (float s = rounded - 1.0f; s <= rounded + 1.0f; s += 1.0f) {
    if (s < -128.0f || s > 127.0f) continue;
    const float error = squared_error(in, unit * s);
    if (error < best_error) {
      best = s;
      best_error = error;
    }
  }
  return best;
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

}  // namespace

void encode(const float* in, BlockQ4_K& block) {
  uint8_t codes[BlockQ4_K::kSize];
  encode_lines(in, 15.0f, block, codes);
  pack_nibbles(codes, block.nibbles);
}

void encode(const float* in, BlockQ5_K& block) {
  uint8_t codes[BlockQ5_K::kSize];
  encode_lines(in, 31.0f, block, codes);
  pack_nibbles(codes, block.nibbles);
  std::fill_n(block.high_bits, sizeof block.high_bits, uint8_t{0});
  for (size_t i = 0; i < BlockQ5_K::kSize; ++i) {
    uint8_t& bits = block.high_bits[i % 32];
    bits = static_cast<uint8_t>(bits | codes[i] >> 4 << (i / 32));
  }
}

void encode(const float* in, BlockQ6_K& block) {
  float scales[kQ6SubBlocks];
  for (size_t i = 0; i < kQ6SubBlocks; ++i) scales[i] = fit_scale(in + i * kQ6SubBlock);
  block.scale = to_half(extreme(scales, kQ6SubBlocks) / -128.0f);
  const float unit = to_float(block.scale);
  uint8_t codes[BlockQ6_K::kSize];
  for (size_t i = 0; i < BlockQ6_K::kSize; ++i) {
    const size_t sub_block = i / kQ6SubBlock;
    if (i % kQ6SubBlock == 0) {
      block.scales[sub_block] =
          static_cast<int8_t>(nearest_sub_scale(in + i, scales[sub_block], unit));
    }
    const float scale = unit * static_cast<float>(block.scales[sub_block]);
    codes[i] = to_code(in[i] * inverse(scale) + 32.5f, 63.0f);
  }
  pack_six_bits(codes, block);
}

}  // namespace kinglet
