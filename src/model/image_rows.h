// The output of a vision tower for a picture, or for a tile of one: rows that take the place of
// token embeddings in a text.
#pragma once

#include <cstdint>
#include <vector>

namespace kinglet {

struct ImageRows {
  std::vector<float> rows;  // [n_rows][width]
  uint32_t n_rows = 0;
  uint32_t width = 0;  // ModelConfig::image_width()
  // The grid of the rows in the picture, line by line. Models with positions in two dimensions use
  // it. 0: positions count up from row to row, as with tokens.
  uint32_t grid_width = 0;
  uint32_t grid_height = 0;
  bool sees_all = false;  // a row also sees the rows after it, to the end of the picture
  uint64_t checksum = 0;  // of the picture, and of the vision tower that made the rows
};

}  // namespace kinglet
