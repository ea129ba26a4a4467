// The search for the scales and minima of types where w = scale * code - minimum. It looks for the
// least squared error, in which each weight counts by its importance, a positive number.
//
// A format is a struct with
//   kSubBlock      the number of weights that share a scale and a minimum
//   kMaxCode       the largest code; the smallest is 0
//   kAnyMinimum    whether a minimum can be negative
#pragma once

#include "tensor/encoding.h"

namespace kinglet {

struct Line {
  float scale = 0.0f;
  float minimum = 0.0f;
};

inline uint8_t nearest_code(float x, const Line& line, float max_code) {
  return to_code((x + line.minimum) * inverse(line.scale) + 0.5f, max_code);
}

struct Fit {
  Line line;
  float explained = 0.0f;  // the part of the sum of squares that is not error
};

// Returns the least-squares line for the codes that the weights get from `line`.
template <class Format>
Fit refit(const float* in, const float* importance, const Line& line) {
  float total = 0, codes = 0, squares = 0, weights = 0, products = 0;
  for (size_t i = 0; i < Format::kSubBlock; ++i) {
    const float code = nearest_code(in[i], line, Format::kMaxCode);
    const float weighted = importance[i] * code;
    total += importance[i];
    codes += weighted;
    squares += weighted * code;
    weights += importance[i] * in[i];
    products += weighted * in[i];
  }
  if (squares == 0.0f) return {};
  Line best{products / squares, 0.0f};
  const float determinant = total * squares - codes * codes;
  if (determinant > 0.0f) {
    const float scale = (total * products - codes * weights) / determinant;
    const float minimum = (scale * codes - weights) / total;
    if (Format::kAnyMinimum || minimum > 0.0f) best = {scale, minimum};
  }
  return {best, best.scale * products - best.minimum * weights};
}

// Tries lines whose largest code is up to 1.5 above or below kMaxCode, refits each, and keeps the
// best. Then it refits the best one until that no longer helps.
template <class Format>
Line fit_line(const float* in, const float* importance) {
  const auto [lowest, highest] = std::minmax_element(in, in + Format::kSubBlock);
  const float minimum = Format::kAnyMinimum ? -*lowest : std::max(0.0f, -*lowest);
  const float range = *highest + minimum;
  if (!(range > 0.0f)) return {0.0f, minimum};
  Fit best;
  for (int step = -15; step <= 15; ++step) {
    const float codes = Format::kMaxCode + 0.1f * static_cast<float>(step);
    const Fit fit = refit<Format>(in, importance, {range / codes, minimum});
    if (fit.explained > best.explained) best = fit;
  }
  for (int round = 0; round < 4; ++round) {
    const Fit fit = refit<Format>(in, importance, best.line);
    if (!(fit.explained > best.explained)) break;
    best = fit;
  }
  return best.line;
}

}  // namespace kinglet
