// Encodes the IQ1, IQ2 and IQ3 types: searches for the codebook vectors and scales with the least
// squared error, in which each weight counts by the square root of its importance, and then makes
// the vectors a little longer.
//
// A group of weights at a given scale: a vector's error is a sum over its digits. Two tables have
// the sums of all possible lower and upper halves of a vector, so that a vector costs one addition;
// and most vectors are not looked at, because their upper half alone costs too much.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/codebooks.h"
#include "tensor/codecs.h"
#include "tensor/encoding.h"

namespace kinglet {
namespace {

constexpr size_t kWeights = 256;  // in a block
constexpr size_t kSigned = 8;     // weights that share a byte of signs, and a variant in IQ1

// --- Formats
// A format has vectors of kDigits digits below kRadix. kValues gives each digit's value in each of
// kVariants variants. A sub-block of kSubBlock weights has the scale unit * (2 s + 1), s <= kMaxS;
// each kShared weights have the same variant. The search for a sub-block's scale begins at those at
// which the weights' root mean square becomes kFirst, kFirst + kStep, … (kTries of them).

template <size_t kSubBlockSize>
struct Iq1Format {
  static constexpr size_t kDigits = 8, kRadix = 3, kVectors = 2048;
  static constexpr size_t kVariants = 2, kSubBlock = kSubBlockSize;
  static constexpr float kValues[2][3] = {{-0.875f, 0.125f, 1.125f}, {-1.125f, -0.125f, 0.875f}};
  static constexpr int kMaxS = 7;
  static constexpr bool kHasSigns = false, kEvenSigns = false;
  static constexpr float kFirst = 0.5f, kStep = 0.05f;
  static constexpr int kTries = 10;
  static const CodebookVector* codebook() { return iq1_codebook(); }
};
struct FormatIQ1_S : Iq1Format<32> {
  static constexpr size_t kShared = 32;
};
struct FormatIQ1_M : Iq1Format<16> {
  static constexpr size_t kShared = 8;
};

template <size_t kNVectors, size_t kSubBlockSize, bool kEven>
struct Iq2Format {
  static constexpr size_t kDigits = 8, kRadix = 3, kVectors = kNVectors;
  static constexpr size_t kVariants = 1, kSubBlock = kSubBlockSize, kShared = kSubBlock;
  static constexpr float kValues[1][3] = {{1.0f, 3.125f, 5.375f}};
  static constexpr int kMaxS = 15;
  static constexpr bool kHasSigns = true, kEvenSigns = kEven;
  static constexpr float kFirst = 1.7f, kStep = 0.17f;
  static constexpr int kTries = 10;
};
struct FormatIQ2_XXS : Iq2Format<256, 32, true> {
  static const CodebookVector* codebook() { return iq2_xxs_codebook(); }
};
struct FormatIQ2_XS : Iq2Format<512, 16, true> {
  static const CodebookVector* codebook() { return iq2_xs_codebook(); }
};
struct FormatIQ2_S : Iq2Format<1024, 16, false> {
  static const CodebookVector* codebook() { return iq2_s_codebook(); }
};

template <size_t kNVectors, bool kEven>
struct Iq3Format {
  static constexpr size_t kDigits = 4, kRadix = 8, kVectors = kNVectors;
  static constexpr size_t kVariants = 1, kSubBlock = 32, kShared = kSubBlock;
  static constexpr int kMaxS = 15;
  static constexpr bool kHasSigns = true, kEvenSigns = kEven;
  static constexpr int kTries = 14;
};
struct FormatIQ3_XXS : Iq3Format<256, true> {
  static constexpr float kValues[1][8] = {{1, 3, 5, 7, 9, 11, 13, 15.5f}};
  static constexpr float kFirst = 4.0f, kStep = 0.35f;
  static const CodebookVector* codebook() { return iq3_xxs_codebook(); }
};
struct FormatIQ3_S : Iq3Format<512, false> {
  static constexpr float kValues[1][8] = {{1, 3, 5, 7, 9, 11, 13, 15}};
  static constexpr float kFirst = 4.0f, kStep = 0.35f;
  static const CodebookVector* codebook() { return iq3_s_codebook(); }
};

// --- The nearest vector

// A codebook for the search: its vectors are in ascending order, so those that have the same upper
// half are neighbours.
template <class F>
struct SplitCodebook {
  static constexpr size_t kHalves = F::kDigits == 8 ? 81 : 64;  // kRadix ^ (kDigits / 2)
  static constexpr size_t kBits = F::kDigits == 8 ? 2 : 4;      // of a digit

  uint16_t first[kHalves + 1];  // the first vector of each upper half
  uint8_t lower[F::kVectors];   // the lower half of each vector

  SplitCodebook() {
    const CodebookVector* vectors = F::codebook();
    size_t n = 0;
    for (size_t upper = 0; upper < kHalves; ++upper) {
      first[upper] = static_cast<uint16_t>(n);
      for (; n < F::kVectors && number(vectors[n], F::kDigits / 2) == upper; ++n) {
        lower[n] = static_cast<uint8_t>(number(vectors[n], 0));
      }
    }
    first[kHalves] = static_cast<uint16_t>(n);
  }

  static const SplitCodebook& get() {
    static const SplitCodebook codebook;
    return codebook;
  }

  static size_t digit(CodebookVector vector, size_t i) {
    return vector >> (i * kBits) & ((1u << kBits) - 1);
  }

 private:
  // The number that kDigits / 2 digits make.
  static size_t number(CodebookVector vector, size_t from) {
    size_t n = 0;
    for (size_t i = F::kDigits / 2; i-- > 0;) n = n * F::kRadix + digit(vector, from + i);
    return n;
  }
};

struct Nearest {
  size_t vector = 0;
  float error = std::numeric_limits<float>::max();
};

// The errors of the digits at kDigits / 4 places, and of all quarters of a vector, which these
// places are, the first digit lowest.
template <class F>
struct Quarter {
  static constexpr size_t kCount = F::kDigits == 8 ? F::kRadix * F::kRadix : F::kRadix;

  float errors[kCount];
  float least = 0.0f;  // of them
  size_t best = 0;     // the quarter that has it

  Quarter(const float* in, const float* importance, const float* values) {
    float digits[F::kDigits / 4][F::kRadix];
    size_t factor = 1;
    for (size_t i = 0; i < F::kDigits / 4; ++i) {
      size_t nearest = 0;
      for (size_t j = 0; j < F::kRadix; ++j) {
        const float error = values[j] - in[i];
        digits[i][j] = importance[i] * error * error;
        if (digits[i][j] < digits[i][nearest]) nearest = j;
      }
      least += digits[i][nearest];
      best += factor * nearest;
      factor *= F::kRadix;
    }
    for (size_t i = 0; i < kCount; ++i) {
      errors[i] = digits[0][i % F::kRadix];
      if constexpr (F::kDigits == 8) errors[i] += digits[1][i / F::kRadix];
    }
  }
};

// Returns the vector nearest to `in`, and its error.
template <class F>
Nearest nearest_vector(const float* in, const float* importance, const float* values) {
  const SplitCodebook<F>& codebook = SplitCodebook<F>::get();
  constexpr size_t kStep = F::kDigits / 4;
  constexpr size_t kCount = Quarter<F>::kCount;
  const Quarter<F> q0(in, importance, values);
  const Quarter<F> q1(in + kStep, importance + kStep, values);
  const Quarter<F> q2(in + 2 * kStep, importance + 2 * kStep, values);
  const Quarter<F> q3(in + 3 * kStep, importance + 3 * kStep, values);
  float lower[kCount * kCount];
  for (size_t i = 0; i < kCount; ++i) {
    for (size_t j = 0; j < kCount; ++j) lower[i * kCount + j] = q1.errors[i] + q0.errors[j];
  }
  const float least_lower = q0.least + q1.least;
  Nearest best;
  const auto look = [&](size_t upper, float upper_error) {
    for (size_t n = codebook.first[upper]; n < codebook.first[upper + 1]; ++n) {
      const float error = upper_error + lower[codebook.lower[n]];
      if (error < best.error) best = {n, error};
    }
  };
  // The best upper half first: then most others are too far away with the best lower half.
  look(q3.best * kCount + q2.best, q3.least + q2.least);
  for (size_t i = 0; i < kCount; ++i) {
    if (!(q3.errors[i] + q2.least + least_lower < best.error)) continue;
    for (size_t j = 0; j < kCount; ++j) {
      const float upper_error = q3.errors[i] + q2.errors[j];
      if (upper_error + least_lower < best.error) look(i * kCount + j, upper_error);
    }
  }
  return best;
}

// --- Blocks

// A sub-block at some scale: its vectors, their variants, and the sums of scale_search.h. If the
// error reaches `limit`, the rest is not searched.
template <class F>
struct SubBlock {
  static constexpr size_t kGroups = F::kSubBlock / F::kDigits;

  uint16_t vectors[kGroups] = {};
  uint8_t variants[F::kSubBlock / F::kShared] = {};
  float error = 0.0f;
  float products = 0.0f;  // importance * value * weight
  float squares = 0.0f;   // importance * value²

  SubBlock(const float* in, const float* importance, float scale, float limit) {
    for (size_t i = 0; i < F::kVariants; ++i) {
      for (size_t j = 0; j < F::kRadix; ++j) values_[i][j] = scale * F::kValues[i][j];
    }
    for (size_t i = 0; i < F::kSubBlock / F::kShared; ++i) {
      const float rest = limit - error;
      const float least = fit_shared(in + i * F::kShared, importance + i * F::kShared, i, rest);
      error = least < rest ? error + least : limit;
      if (!(error < limit)) return;
    }
    add_sums(in, importance);
  }

 private:
  static constexpr size_t kGroupsOfShared = F::kShared / F::kDigits;

  // Chooses the variant with the least error, and its vectors. Returns the error, or some number
  // above `limit` if it is above it.
  float fit_shared(const float* in, const float* importance, size_t at, float limit) {
    float least = std::numeric_limits<float>::infinity();
    for (size_t variant = 0; variant < F::kVariants; ++variant) {
      Nearest nearest[kGroupsOfShared];
      float sum = 0.0f;
      for (size_t i = 0; i < kGroupsOfShared && sum < std::min(least, limit); ++i) {
        nearest[i] =
            nearest_vector<F>(in + i * F::kDigits, importance + i * F::kDigits, values_[variant]);
        sum += nearest[i].error;
      }
      if (!(sum < least)) continue;
      least = sum;
      variants[at] = static_cast<uint8_t>(variant);
      for (size_t i = 0; i < kGroupsOfShared; ++i) {
        vectors[at * kGroupsOfShared + i] = static_cast<uint16_t>(nearest[i].vector);
      }
    }
    return least;
  }

  void add_sums(const float* in, const float* importance) {
    for (size_t i = 0; i < F::kSubBlock; ++i) {
      const CodebookVector vector = F::codebook()[vectors[i / F::kDigits]];
      const float value =
          F::kValues[variants[i / F::kShared]][SplitCodebook<F>::digit(vector, i % F::kDigits)];
      products += importance[i] * value * in[i];
      squares += importance[i] * value * value;
    }
  }

  float values_[F::kVariants][F::kRadix];
};

// Searches for the scale with the least error.
template <class F>
float fit_scale(const float* in, const float* importance) {
  float total = 0.0f, sum = 0.0f;
  for (size_t i = 0; i < F::kSubBlock; ++i) {
    total += importance[i];
    sum += importance[i] * in[i] * in[i];
  }
  const float mean = std::sqrt(sum / total);
  float best = 0.0f;
  float best_error = std::numeric_limits<float>::infinity();
  const auto consider = [&](float scale) {
    const SubBlock<F> fitted(in, importance, scale, best_error);
    if (!(fitted.error < best_error)) return false;
    best_error = fitted.error;
    best = fitted.squares > 0.0f ? std::max(0.0f, fitted.products / fitted.squares) : 0.0f;
    return true;
  };
  for (int i = 0; i < F::kTries; ++i) {
    consider(mean / (F::kFirst + F::kStep * static_cast<float>(i)));
  }
  for (int round = 0; round < 3 && consider(best); ++round) {
  }
  return best;
}

template <class F>
struct CodebookBlock {
  static constexpr size_t kCount = kWeights / F::kSubBlock;

  float in[kWeights];  // magnitudes if the format has signs
  uint8_t signs[kWeights / kSigned] = {};
  Half unit;
  uint8_t s[kCount] = {};
  uint16_t vectors[kWeights / F::kDigits] = {};
  uint8_t variants[kWeights / kSigned] = {};

  CodebookBlock(const float* weights, const float* importance) {
    std::copy_n(weights, kWeights, in);
    // An importance matrix exaggerates the differences between columns, as it knows only its own
    // text: with the square roots, models stay closer to what they were on other texts.
    float roots[kWeights];
    std::transform(importance, importance + kWeights, roots, [](float x) { return std::sqrt(x); });
    if constexpr (F::kHasSigns) take_signs(roots);
    fit(roots);
  }

 private:
  // Makes weights positive. If an even number of signs can be stored, one weight may stay negative:
  // the one where a wrong sign matters least.
  void take_signs(const float* importance) {
    for (size_t i = 0; i < kWeights; i += kSigned) {
      unsigned bits = 0;
      unsigned n_negative = 0;
      size_t least = i;
      for (size_t j = i; j < i + kSigned; ++j) {
        if (in[j] < 0.0f) {
          bits |= 1u << (j - i);
          in[j] = -in[j];
          ++n_negative;
        }
        if (importance[j] * in[j] < importance[least] * in[least]) least = j;
      }
      if (F::kEvenSigns && n_negative % 2 != 0) {
        bits ^= 1u << (least - i);
        in[least] = -in[least];
      }
      signs[i / kSigned] = static_cast<uint8_t>(bits);
    }
  }

  void fit(const float* importance) {
    float fitted[kCount];
    for (size_t i = 0; i < kCount; ++i) {
      fitted[i] = fit_scale<F>(in + i * F::kSubBlock, importance + i * F::kSubBlock);
    }
    const float largest = *std::max_element(fitted, fitted + kCount);
    float error = std::numeric_limits<float>::infinity();
    float next = largest / (2 * F::kMaxS + 1);
    for (int round = 0; round < 4; ++round) {
      CodebookBlock rounded = *this;
      rounded.unit = to_half(next);
      const float rounded_error = rounded.round_scales(importance, fitted, next);
      if (round > 0 && !(rounded_error < error)) break;
      *this = rounded;
      error = rounded_error;
    }
    unit = lengthened(importance, error);
  }

  // The least error makes vectors too short: products with the weights themselves are too small by
  // error / total. Returns a unit that gives back most of this.
  Half lengthened(const float* importance, float error) const {
    constexpr float kShare = 0.7f;  // measured: models are closest to what they were
    float total = 0.0f;
    for (size_t i = 0; i < kWeights; ++i) total += importance[i] * in[i] * in[i];
    if (!(error < total)) return unit;
    return to_half(to_float(unit) * (1.0f + kShare * error / (total - error)));
  }

  // Sets each sub-block's s to the best one near its fitted scale. Returns the squared error, and
  // in `refitted` the best unit for the vectors and scales that were found.
  float round_scales(const float* importance, const float* fitted, float& refitted) {
    const float step = to_float(unit);
    const float inverse_step = inverse(step);
    float sum = 0.0f, products = 0.0f, squares = 0.0f;
    for (size_t i = 0; i < kCount; ++i) {
      const float nearest = std::round((fitted[i] * inverse_step - 1.0f) * 0.5f);
      const int middle =
          static_cast<int>(std::min(std::max(0.0f, nearest), static_cast<float>(F::kMaxS)));
      float least = std::numeric_limits<float>::infinity();
      float best_products = 0.0f, best_squares = 0.0f;
      for (int candidate = std::max(0, middle - 1); candidate <= std::min(F::kMaxS, middle + 1);
           ++candidate) {
        const auto multiple = static_cast<float>(2 * candidate + 1);
        const SubBlock<F> found(in + i * F::kSubBlock, importance + i * F::kSubBlock,
                                step * multiple, least);
        if (!(found.error < least)) continue;
        least = found.error;
        best_products = multiple * found.products;
        best_squares = multiple * multiple * found.squares;
        s[i] = static_cast<uint8_t>(candidate);
        keep(i, found);
      }
      sum += least;
      products += best_products;
      squares += best_squares;
    }
    refitted = squares > 0.0f ? std::max(0.0f, products / squares) : 0.0f;
    return sum;
  }

  void keep(size_t i, const SubBlock<F>& found) {
    std::copy_n(found.vectors, found.kGroups, vectors + i * found.kGroups);
    constexpr size_t kBytes = F::kSubBlock / kSigned;
    for (size_t j = 0; j < kBytes; ++j) {
      variants[i * kBytes + j] = found.variants[j * kSigned / F::kShared];
    }
  }
};

// --- Packing: the inverse of for_each_group() in codec_codebook.cpp

// Four bytes of signs, without the eighth bits, and s.
uint32_t signs_and_scale(const uint8_t* signs, unsigned s) {
  uint32_t word = s << 28;
  for (size_t i = 0; i < 4; ++i) word |= (signs[i] & 0x7fu) << (7 * i);
  return word;
}

void pack(const CodebookBlock<FormatIQ1_S>& from, BlockIQ1_S& block) {
  block.scale = from.unit;
  for (size_t i = 0; i < kWeights / 32; ++i) {
    unsigned word = unsigned{from.s[i]} << 12 | unsigned{from.variants[4 * i]} << 15;
    for (size_t j = 0; j < 4; ++j) word |= unsigned{from.vectors[4 * i + j]} >> 8 << (3 * j);
    block.high[i] = static_cast<uint16_t>(word);
  }
  for (size_t i = 0; i < kWeights / 8; ++i) block.low[i] = static_cast<uint8_t>(from.vectors[i]);
}

void pack(const CodebookBlock<FormatIQ1_M>& from, BlockIQ1_M& block) {
  for (size_t i = 0; i < kWeights / 64; ++i) {
    unsigned word = (from.unit.bits >> (4 * i) & 0x0fu) << 12;
    for (size_t j = 0; j < 4; ++j) word |= unsigned{from.s[4 * i + j]} << (3 * j);
    block.scales[i] = static_cast<uint16_t>(word);
  }
  for (size_t i = 0; i < kWeights / 8; ++i) {
    block.low[i] = static_cast<uint8_t>(from.vectors[i]);
    add_nibble(block.high, i, unsigned{from.vectors[i]} >> 8 | unsigned{from.variants[i]} << 3);
  }
}

void pack(const CodebookBlock<FormatIQ2_XXS>& from, BlockIQ2_XXS& block) {
  block.scale = from.unit;
  for (size_t i = 0; i < kWeights / 32; ++i) {
    BlockIQ2_XXS::SubBlock& sub_block = block.sub_blocks[i];
    for (size_t j = 0; j < 4; ++j) {
      sub_block.vectors[j] = static_cast<uint8_t>(from.vectors[4 * i + j]);
    }
    sub_block.signs_and_scale = signs_and_scale(from.signs + 4 * i, from.s[i]);
  }
}

void pack(const CodebookBlock<FormatIQ2_XS>& from, BlockIQ2_XS& block) {
  block.scale = from.unit;
  for (size_t i = 0; i < kWeights / 8; ++i) {
    block.vectors_and_signs[i] =
        static_cast<uint16_t>(from.vectors[i] | (from.signs[i] & 0x7fu) << 9);
  }
  for (size_t i = 0; i < kWeights / 16; ++i) add_nibble(block.scales, i, from.s[i]);
}

void pack(const CodebookBlock<FormatIQ2_S>& from, BlockIQ2_S& block) {
  block.scale = from.unit;
  for (size_t i = 0; i < kWeights / 8; ++i) {
    block.low[i] = static_cast<uint8_t>(from.vectors[i]);
    block.signs[i] = from.signs[i];
    block.high[i / 4] =
        static_cast<uint8_t>(block.high[i / 4] | from.vectors[i] >> 8 << (i % 4 * 2));
  }
  for (size_t i = 0; i < kWeights / 16; ++i) add_nibble(block.scales, i, from.s[i]);
}

void pack(const CodebookBlock<FormatIQ3_XXS>& from, BlockIQ3_XXS& block) {
  block.scale = from.unit;
  for (size_t i = 0; i < kWeights / 4; ++i)
    block.vectors[i] = static_cast<uint8_t>(from.vectors[i]);
  for (size_t i = 0; i < kWeights / 32; ++i) {
    block.signs_and_scales[i] = signs_and_scale(from.signs + 4 * i, from.s[i]);
  }
}

void pack(const CodebookBlock<FormatIQ3_S>& from, BlockIQ3_S& block) {
  block.scale = from.unit;
  std::copy_n(from.signs, kWeights / 8, block.signs);
  for (size_t i = 0; i < kWeights / 4; ++i) {
    block.low[i] = static_cast<uint8_t>(from.vectors[i]);
    block.high[i / 8] = static_cast<uint8_t>(block.high[i / 8] | from.vectors[i] >> 8 << (i % 8));
  }
  for (size_t i = 0; i < kWeights / 32; ++i) add_nibble(block.scales, i, from.s[i]);
}

template <class F, class Block>
void encode_with(const float* in, const float* importance, Block& block) {
  block = {};
  pack(CodebookBlock<F>(in, importance), block);
}

}  // namespace

void encode(const float* in, const float* importance, BlockIQ1_S& block) {
  encode_with<FormatIQ1_S>(in, importance, block);
}
void encode(const float* in, const float* importance, BlockIQ1_M& block) {
  encode_with<FormatIQ1_M>(in, importance, block);
}
void encode(const float* in, const float* importance, BlockIQ2_XXS& block) {
  encode_with<FormatIQ2_XXS>(in, importance, block);
}
void encode(const float* in, const float* importance, BlockIQ2_XS& block) {
  encode_with<FormatIQ2_XS>(in, importance, block);
}
void encode(const float* in, const float* importance, BlockIQ2_S& block) {
  encode_with<FormatIQ2_S>(in, importance, block);
}
void encode(const float* in, const float* importance, BlockIQ3_XXS& block) {
  encode_with<FormatIQ3_XXS>(in, importance, block);
}
void encode(const float* in, const float* importance, BlockIQ3_S& block) {
  encode_with<FormatIQ3_S>(in, importance, block);
}

}  // namespace kinglet
