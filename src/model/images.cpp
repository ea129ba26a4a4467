#include "model/images.h"

#include <algorithm>

#include "base/bit_cast.h"
#include "base/finite.h"
#include "base/format.h"
#include "base/hash.h"

namespace kinglet {

const PlacedImage* image_at(PlacedImages images, size_t position) {
  for (const PlacedImage& placed : images) {
    if (position < placed.first) return nullptr;
    if (position < placed.end()) return &placed;
  }
  return nullptr;
}

RopePosition rope_position(PlacedImages images, size_t position) {
  auto time = static_cast<uint32_t>(position);
  for (const PlacedImage& placed : images) {
    const uint32_t width = placed.image->grid_width;
    if (position < placed.first) break;
    if (width == 0) continue;
    if (position < placed.end()) {
      const auto row = static_cast<uint32_t>(position) - placed.first;
      time -= row;
      return {{time, time + row / width, time + row % width}};
    }
    const uint32_t n_lines = (placed.n_rows - 1) / width + 1;
    time -= placed.n_rows - std::max(std::min(placed.n_rows, width), n_lines);
  }
  return {{time, time, time}};
}

int32_t image_token(const ImageRows& image, uint32_t row) {
  constexpr int32_t kLargest = -2;  // -1 is kNoToken
  const uint64_t parts[] = {image.checksum, uint64_t{image.n_rows} << 32 | row,
                            uint64_t{image.grid_width} << 32 | image.grid_height,
                            uint64_t{image.width} << 1 | (image.sees_all ? 1u : 0u)};
  const auto hash = static_cast<uint32_t>(hash_bytes(std::as_bytes(std::span(parts))) >> 32);
  return std::min(bit_cast<int32_t>(hash | 0x80000000u), kLargest);
}

std::vector<int32_t> image_tokens(const ImageRows& image) {
  std::vector<int32_t> tokens(image.n_rows);
  for (uint32_t row = 0; row < image.n_rows; ++row) tokens[row] = image_token(image, row);
  return tokens;
}

uint32_t n_rows_at(const ImageRows& image, std::span<const int32_t> tokens) {
  uint32_t n = 0;
  while (n < image.n_rows && n < tokens.size() && tokens[n] == image_token(image, n)) ++n;
  return n;
}

Status check_image(const ImageRows& image, const ModelConfig& config) {
  if (image.width != config.image_width()) {
    return Error{ErrorCode::wrong_shape,
                 cat("rows of a picture are ", image.width, " numbers wide, but the model takes ",
                     config.image_width(), ": they belong to another model")};
  }
  const uint64_t n_in_grid = uint64_t{image.grid_width} * image.grid_height;
  const bool has_grid = image.grid_width > 0 || image.grid_height > 0;
  if (image.n_rows == 0 || (has_grid && n_in_grid != image.n_rows)) {
    return Error{ErrorCode::invalid_argument,
                 cat("a picture has ", image.n_rows, " rows, which does not match its grid of ",
                     image.grid_width, " x ", image.grid_height)};
  }
  if (image.rows.empty()) return {};
  if (image.rows.size() != uint64_t{image.n_rows} * image.width) {
    return Error{ErrorCode::invalid_argument,
                 cat("a picture has ", image.rows.size(), " numbers, expected ", image.n_rows,
                     " rows of ", image.width)};
  }
  if (all_finite(image.rows)) return {};
  return Error{ErrorCode::not_finite, "the rows of a picture contain NaN or infinity"};
}

}  // namespace kinglet
