// The order of a tile's patches as rows of an encoder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kinglet {

// Line by line; with windows, window by window in the same order, and line by line in each. Windows
// at the right and at the bottom may be smaller.
class PatchGrid {
 public:
  struct Place {
    uint32_t line;
    uint32_t column;
  };

  PatchGrid() = default;
  // Numbers of patches; `window`: per side, 0: no windows.
  PatchGrid(uint32_t across, uint32_t down, uint32_t window);

  uint32_t across() const { return across_; }
  uint32_t down() const { return down_; }
  size_t n_patches() const { return size_t{across_} * down_; }

  // Convert a patch's row to its place in the tile, and back.
  Place place_of(size_t row) const;
  size_t row_of(Place place) const;

  // The numbers of patches in each window. Without windows, all patches are in one.
  std::vector<size_t> windows() const;

 private:
  uint32_t across_ = 0;
  uint32_t down_ = 0;
  uint32_t side_ = 1;  // of a window
};

}  // namespace kinglet
