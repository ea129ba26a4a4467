// Lays out a picture for a picture reader: its sizes, its tiles, and the text around them. It does
// the same as llama.cpp's tools/mtmd, with which files are made and tested.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "vision/pixels.h"
#include "vision/resize.h"
#include "vision/vision_config.h"

namespace kinglet {

// The maximum number of tiles of a picture: a larger picture is scaled down.
constexpr uint32_t kMaxTilesOfSide = 16;
constexpr uint32_t kMaxTiles = kMaxTilesOfSide * kMaxTilesOfSide;

// A part of one of the layout's pictures. Its sides are multiples of VisionConfig::row_size().
struct Tile {
  size_t picture;
  uint32_t x;
  uint32_t y;
  Size size;
};

struct PictureLayout {
  std::vector<Picture> pictures;
  std::vector<Tile> tiles;

  // In the order of the text model's input. Each part is a text; an empty text means the next tile.
  std::vector<std::string> parts;
};

// Lays out a picture. One that is too large for the reader is scaled down, whatever its
// proportions. Errors: those of check_picture() and resize(); invalid_argument if the reader's own
// sizes make more than kMaxPatches patches; out_of_memory.
Result<PictureLayout> lay_out_picture(const VisionConfig& config, const PictureView& picture);

// Returns the number of patches of the largest tile of a picture of that size. Errors: those of
// lay_out_picture() that concern sizes.
Result<size_t> largest_tile(const VisionConfig& config, Size size);

}  // namespace kinglet
