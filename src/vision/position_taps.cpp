#include "vision/position_taps.h"

#include <algorithm>
#include <cmath>

namespace kinglet {
namespace {

// The triangle filter, which is wider if the new grid is smaller (PyTorch's interpolate() with
// antialias). Computed in floats, like there.
PositionTaps::Span antialiased(uint32_t n_from, uint32_t n_to, uint32_t i) {
  const float scale = static_cast<float>(n_to) / static_cast<float>(n_from);
  const float reach = std::max(1.0f, 1.0f / scale);
  const float center = (static_cast<float>(i) + 0.5f) / scale;
  const auto first = static_cast<uint32_t>(std::max(center - reach + 0.5f, 0.0f));
  const auto end = std::min(static_cast<uint32_t>(center + reach + 0.5f), n_from);
  PositionTaps::Span span{first, {}};
  float sum = 0;
  for (uint32_t at = first; at < end; ++at) {
    const float distance = (static_cast<float>(at) - center + 0.5f) / reach;
    span.weights.push_back(std::max(1.0f - std::abs(distance), 0.0f));
    sum += span.weights.back();
  }
  for (float& weight : span.weights) weight /= sum;
  return span;
}

// Linear interpolation between two neighbours, in which the first and the last line keep their
// places.
PositionTaps::Span between(uint32_t n_from, uint32_t n_to, uint32_t i) {
  const bool has_ends = n_to > 1 && n_from > 1;
  const float scale = has_ends ? static_cast<float>(n_to - 1) / static_cast<float>(n_from - 1)
                               : static_cast<float>(n_to) / static_cast<float>(n_from);
  const float at = static_cast<float>(i) / scale;
  const uint32_t first = std::min(static_cast<uint32_t>(at), n_from - 1);
  const float share = std::clamp(at - static_cast<float>(first), 0.0f, 1.0f);
  if (first + 1 == n_from) return {first, {1.0f}};
  return {first, {1.0f - share, share}};
}

}  // namespace

PositionTaps PositionTaps::make(uint32_t n_from, uint32_t n_to, Positions positions) {
  PositionTaps taps;
  for (uint32_t i = 0; i < n_to; ++i) {
    if (n_from == n_to) {
      taps.spans.push_back({i, {1.0f}});
    } else if (positions == Positions::antialiased) {
      taps.spans.push_back(antialiased(n_from, n_to, i));
    } else {
      taps.spans.push_back(between(n_from, n_to, i));
    }
  }
  return taps;
}

}  // namespace kinglet
