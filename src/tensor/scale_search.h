// The search for the scales of types where w = scale * code. It looks for the least squared error,
// in which each weight counts by its importance, a positive number.
//
// A set of codes is a struct with
//   static float nearest(float x)           the code nearest to x, for any x
//   kFirst, kStep, kTries                   magnitudes that the largest weight is scaled to
//   kUnitRounds                             how often a block's unit is refitted while that helps
#pragma once

#include "base/half.h"
#include "tensor/encoding.h"

namespace kinglet {

// Codes from -kCodes to kCodes - 1.
template <int kCodes>
struct SignedCodes {
  static float nearest(float x) {
    constexpr float kOffset = kCodes;
    return static_cast<float>(to_code(x + (kOffset + 0.5f), 2 * kOffset - 1)) - kOffset;
  }
};

// Sums over weights w and their codes c for a given scale. The least-squares scale for these codes
// is products / squares; it explains products² / squares of the sum of w².
struct CodeSums {
  float products = 0.0f;  // importance * c * w
  float squares = 0.0f;   // importance * c²

  bool explains_more_than(float explained) const {
    return products * products > explained * squares;
  }
};

template <class Codes>
CodeSums code_sums(const float* in, const float* importance, size_t n, float scale) {
  const float inverse_scale = inverse(scale);
  CodeSums sums;
  for (size_t i = 0; i < n; ++i) {
    const float code = Codes::nearest(in[i] * inverse_scale);
    const float weighted = importance[i] * code;
    sums.products += weighted * in[i];
    sums.squares += weighted * code;
  }
  return sums;
}

template <class Codes>
float squared_error(const float* in, const float* importance, size_t n, float scale) {
  const float inverse_scale = inverse(scale);
  float sum = 0.0f;
  for (size_t i = 0; i < n; ++i) {
    const float error = scale * Codes::nearest(in[i] * inverse_scale) - in[i];
    sum += importance[i] * error * error;
  }
  return sum;
}

// Finds the best scale. It tries the scales at which the weight of largest magnitude becomes one of
// the set's magnitudes, with either sign, and refits each one to the resulting codes. Then it
// refits the best one until that no longer helps.
template <class Codes>
float fit_scale(const float* in, const float* importance, size_t n) {
  const float largest = extreme(in, n);
  float best = 0.0f;
  float best_explained = 0.0f;  // the part of the sum of squares that is not error
  const auto consider = [&](float scale) {
    const CodeSums sums = code_sums<Codes>(in, importance, n, scale);
    if (!sums.explains_more_than(best_explained)) return false;
    best = sums.products / sums.squares;
    best_explained = sums.products * best;
    return true;
  };
  for (int i = 0; i < Codes::kTries; ++i) {
    const float magnitude = Codes::kFirst + Codes::kStep * static_cast<float>(i);
    consider(largest / magnitude);
    consider(largest / -magnitude);
  }
  for (int round = 0; round < 4 && consider(best); ++round) {
  }
  return best;
}

// A block of kCount sub-blocks. Their scales are integers from -kRange to kRange - 1, times a unit
// that the block stores.
template <class Codes, size_t kCount, size_t kSize, int kRange>
struct ScaledBlock {
  Half unit;
  int scales[kCount];

  void fit(const float* in, const float* importance) {
    float fitted[kCount];
    for (size_t i = 0; i < kCount; ++i) {
      fitted[i] = fit_scale<Codes>(in + i * kSize, importance + i * kSize, kSize);
    }
    unit = to_half(extreme(fitted, kCount) / static_cast<float>(-kRange));
    float error = round_scales(in, importance, fitted);
    for (int round = 0; round < Codes::kUnitRounds; ++round) {
      ScaledBlock next;
      next.unit = to_half(refitted_unit(in, importance));
      const float next_error = next.round_scales(in, importance, fitted);
      if (!(next_error < error)) break;
      *this = next;
      error = next_error;
    }
  }

  // The code of weight i.
  float code(const float* in, size_t i) const {
    return Codes::nearest(in[i] * inverse(scale(i / kSize)));
  }

  // The scale of sub-block i.
  float scale(size_t i) const { return to_float(unit) * static_cast<float>(scales[i]); }

 private:
  // Sets each sub-block's scale to the best one near its fitted scale; returns the squared error.
  float round_scales(const float* in, const float* importance, const float* fitted) {
    const float step = to_float(unit);
    float sum = 0.0f;
    for (size_t i = 0; i < kCount; ++i, in += kSize, importance += kSize) {
      const float nearest = std::round(fitted[i] * inverse(step));
      const auto middle =
          static_cast<int>(std::min(std::max(float{-kRange}, nearest), float{kRange - 1}));
      scales[i] = 0;
      float best = squared_error<Codes>(in, importance, kSize, 0.0f);
      for (int s = std::max(-kRange, middle - 1); s <= std::min(kRange - 1, middle + 1); ++s) {
        const float error =
            squared_error<Codes>(in, importance, kSize, step * static_cast<float>(s));
        if (error < best) {
          scales[i] = s;
          best = error;
        }
      }
      sum += best;
    }
    return sum;
  }

  // The least-squares unit for the current scales and codes.
  float refitted_unit(const float* in, const float* importance) const {
    float products = 0.0f, squares = 0.0f;
    for (size_t i = 0; i < kCount; ++i, in += kSize, importance += kSize) {
      const CodeSums sums = code_sums<Codes>(in, importance, kSize, scale(i));
      const auto s = static_cast<float>(scales[i]);
      products += s * sums.products;
      squares += s * s * sums.squares;
    }
    return squares > 0.0f ? products / squares : 0.0f;
  }
};

}  // namespace kinglet
