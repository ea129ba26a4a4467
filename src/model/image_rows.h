// What a vision tower makes of a picture, or of a tile of one: rows that stand in a text where the
// embeddings of tokens do.
#pragma once

#include <cstdint>
#include <vector>

namespace kinglet {

struct ImageRows {
  std::vector<float> rows;  // [n_rows][width]
  uint32_t n_rows = 0;
  uint32_t width = 0;  // ModelConfig::image_width()
  // How the rows lie in the picture, line by line. Models with positions in two dimensions count
  // by it; 0: each row has the position after the one before it, as tokens have.
  uint32_t grid_width = 0;
  uint32_t grid_height = 0;
  bool sees_all = false;  // a row sees those after it, too, to the end of the picture
  uint64_t checksum = 0;  // of the picture, and of what made the rows of it
};

}  // namespace kinglet
