#include "vision/patch_grid.h"

#include <algorithm>

namespace kinglet {

PatchGrid::PatchGrid(uint32_t across, uint32_t down, uint32_t window)
    : across_(across), down_(down), side_(window > 0 ? window : std::max(across, down)) {}

PatchGrid::Place PatchGrid::place_of(size_t row) const {
  auto rest = static_cast<uint32_t>(row);
  const uint32_t top = rest / (side_ * across_) * side_;
  rest -= top * across_;
  const uint32_t height = std::min(side_, down_ - top);
  const uint32_t left = rest / (side_ * height) * side_;
  rest -= left * height;
  const uint32_t width = std::min(side_, across_ - left);
  return {top + rest / width, left + rest % width};
}

size_t PatchGrid::row_of(Place place) const {
  const uint32_t top = place.line / side_ * side_;
  const uint32_t left = place.column / side_ * side_;
  const uint32_t height = std::min(side_, down_ - top);
  const uint32_t width = std::min(side_, across_ - left);
  return size_t{top} * across_ + left * height + (place.line - top) * width + place.column - left;
}

std::vector<size_t> PatchGrid::windows() const {
  std::vector<size_t> sizes;
  for (uint32_t top = 0; top < down_; top += side_) {
    for (uint32_t left = 0; left < across_; left += side_) {
      sizes.push_back(size_t{std::min(side_, down_ - top)} * std::min(side_, across_ - left));
    }
  }
  return sizes;
}

}  // namespace kinglet
