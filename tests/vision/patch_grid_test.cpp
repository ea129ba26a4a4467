// The order of patches: a permutation of the tile, window by window.
#include "vision/patch_grid.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace kinglet {
namespace {

std::vector<size_t> places_of(const PatchGrid& grid) {
  std::vector<size_t> places;
  for (size_t row = 0; row < grid.n_patches(); ++row) {
    const PatchGrid::Place place = grid.place_of(row);
    places.push_back(size_t{place.line} * grid.across() + place.column);
  }
  return places;
}

TEST(PatchGrid, OrdersPatchesLineByLineWithoutWindows) {
  const PatchGrid grid(4, 3, 0);
  std::vector<size_t> expected(12);
  std::iota(expected.begin(), expected.end(), size_t{0});
  EXPECT_EQ(places_of(grid), expected);
  EXPECT_EQ(grid.windows(), std::vector<size_t>{12});
}

TEST(PatchGrid, OrdersPatchesByWindows) {
  const PatchGrid grid(5, 3, 2);
  EXPECT_EQ(places_of(grid),
            (std::vector<size_t>{0, 1, 5, 6, 2, 3, 7, 8, 4, 9, 10, 11, 12, 13, 14}));
  EXPECT_EQ(grid.windows(), (std::vector<size_t>{4, 4, 2, 2, 2, 1}));
}

TEST(PatchGrid, FindsTheRowOfEveryPlace) {
  for (const uint32_t window : {0u, 1u, 3u, 8u, 100u}) {
    const PatchGrid grid(13, 22, window);
    for (size_t row = 0; row < grid.n_patches(); ++row) {
      ASSERT_EQ(grid.row_of(grid.place_of(row)), row) << window;
    }
  }
}

}  // namespace
}  // namespace kinglet
