// Pictures that the session tests put between tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "model/images.h"
#include "model/model.h"

namespace kinglet {

// Numbers in [-1, 1), different for each picture: tests/fixtures/README.md has the formula.
inline std::vector<float> picture_rows(uint32_t picture, size_t n) {
  std::vector<float> rows(n);
  for (size_t i = 0; i < n; ++i) {
    uint32_t x = (static_cast<uint32_t>(i) + picture * 1000003u) * 2654435761u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    rows[i] = static_cast<float>(x >> 16) / 32768.0f - 1.0f;
  }
  return rows;
}

inline ImageRows make_image_rows(const Model& model, uint32_t picture, uint32_t grid_width,
                                 uint32_t grid_height) {
  const uint32_t n_rows = grid_width * grid_height;
  const uint32_t width = model.config().image_width();
  return {.rows = picture_rows(picture, size_t{n_rows} * width),
          .n_rows = n_rows,
          .width = width,
          .grid_width = grid_width,
          .grid_height = grid_height,
          .sees_all = false,
          .checksum = picture};
}

inline SharedImage make_image(const Model& model, uint32_t picture, uint32_t grid_width,
                              uint32_t grid_height) {
  return std::make_shared<const ImageRows>(
      make_image_rows(model, picture, grid_width, grid_height));
}

// The same picture as in a restored session.
inline SharedImage without_rows(const SharedImage& image) {
  ImageRows copy = *image;
  copy.rows.clear();
  return std::make_shared<const ImageRows>(std::move(copy));
}

}  // namespace kinglet
