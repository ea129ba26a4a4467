// How a picture is laid before a reader: in which sizes, cut into which tiles, with what text
// around them. As llama.cpp's tools/mtmd does it, which files are made and tried with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "vision/pixels.h"
#include "vision/resize.h"
#include "vision/vision_config.h"

namespace kinglet {

// Tiles of a picture, at most: one of more is scaled down.
constexpr uint32_t kMaxTilesOfSide = 16;
constexpr uint32_t kMaxTiles = kMaxTilesOfSide * kMaxTilesOfSide;

// A part of one of the layout's pictures. Sides are multiples of VisionConfig::row_size().
struct Tile {
  size_t picture;
  uint32_t x;
  uint32_t y;
  Size size;
};

struct PictureLayout {
  std::vector<Picture> pictures;
  std::vector<Tile> tiles;

  // In the order in which the text model sees them: a text, or where that is empty, the next tile.
  std::vector<std::string> parts;
};

// A picture that is too large for a reader is scaled down, whatever its proportions. ErrorCode::
// invalid_argument: those of check_picture() and resize(), and a reader whose own sizes make more
// than kMaxPatches patches; out_of_memory.
Result<PictureLayout> lay_out_picture(const VisionConfig& config, const PictureView& picture);

// Patches of the largest tile of a picture of that size, whose pixels do not matter. Errors: the
// same, of sizes.
Result<size_t> largest_tile(const VisionConfig& config, Size size);

}  // namespace kinglet
