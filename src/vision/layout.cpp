#include "vision/layout.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format.h"

namespace kinglet {
namespace {

// LFM2-VL: the limits of the number of tiles. A picture is cut if it has more than kTilingFactor
// times the most pixels of a picture in one piece.
constexpr uint32_t kMinTiles = 2;
constexpr uint32_t kMaxFreeTiles = 10;
constexpr double kTilingFactor = 2;

float to_float(uint32_t n) { return static_cast<float>(n); }

// Returns `steps` times `step`. More steps than the limit of a side become limit + 1 steps, which
// resize() rejects.
uint32_t multiple(float steps, uint32_t step) {
  constexpr float kTooMany = kMaxResizedSide + 1;
  return static_cast<uint32_t>(std::min(steps, kTooMany)) * step;
}

size_t n_patches_of(const VisionConfig& config, Size size) {
  return size_t{size.width / config.patch_size} * (size.height / config.patch_size);
}

// Cuts the longer side of a size in steps, so that its area is at most `most` squares of a step.
Size cut_to(Size size, uint32_t step, uint64_t most) {
  const uint64_t shorter = std::min(size.width, size.height) / step;
  const auto longest = static_cast<uint32_t>(std::max<uint64_t>(most / shorter, 1) * step);
  return {std::min(size.width, longest), std::min(size.height, longest)};
}

// Returns the picture's own size in steps; if that has too few or too many pixels, the nearest size
// in its proportions. Computes in floats like the reference, because rounding decides about whole
// steps. A side shorter than a step is rounded up, so the result could exceed the limit (for a line
// of 65,536 pixels, several times). Here, such a picture loses its proportions.
Size fit_pixels(const PictureView& picture, uint32_t step, uint64_t min_pixels,
                uint64_t max_pixels) {
  const float width = to_float(picture.width);
  const float height = to_float(picture.height);
  const float unit = to_float(step);
  Size size{std::max(step, multiple(std::round(width / unit), step)),
            std::max(step, multiple(std::round(height / unit), step))};
  const uint64_t n_pixels = uint64_t{size.width} * size.height;
  if (max_pixels > 0 && n_pixels > max_pixels) {
    const float factor = std::sqrt(height * width / static_cast<float>(max_pixels));
    size = {std::max(step, multiple(std::floor(width / factor / unit), step)),
            std::max(step, multiple(std::floor(height / factor / unit), step))};
    return cut_to(size, step, max_pixels / (uint64_t{step} * step));
  }
  if (n_pixels < min_pixels) {
    const float factor = std::sqrt(static_cast<float>(min_pixels) / (height * width));
    size = {multiple(std::ceil(width * factor / unit), step),
            multiple(std::ceil(height * factor / unit), step)};
  }
  return size;
}

Status check_patches(const VisionConfig& config, Size size) {
  const size_t n = n_patches_of(config, size);
  const uint32_t longest = std::max(size.width, size.height) / config.patch_size;
  if (longest > config.most_across) {
    return Error{ErrorCode::invalid_argument,
                 cat("the picture is ", longest, " patches long, expected at most ",
                     config.most_across, ": the picture reader has no positions for more")};
  }
  if (n <= kMaxPatches) return {};
  return Error{ErrorCode::invalid_argument,
               cat("the picture is ", n, " patches in size, expected at most ", kMaxPatches)};
}

// Adds a picture that is one tile.
void add_whole(PictureLayout& layout, Picture picture) {
  layout.tiles.push_back({layout.pictures.size(), 0, 0, {picture.width(), picture.height()}});
  layout.pictures.push_back(std::move(picture));
  layout.parts.emplace_back();
}

void add_text(PictureLayout& layout, std::string_view text) {
  if (text.empty()) return;
  if (layout.parts.empty() || layout.parts.back().empty()) {
    layout.parts.emplace_back(text);
  } else {
    layout.parts.back() += text;
  }
}

// Adds a picture that is cut into squares, line by line, and then the whole picture in another
// size.
void add_tiles(const VisionConfig& config, Picture picture, Picture whole, PictureLayout& layout) {
  const Projector& projector = *config.projector;
  const uint32_t side = config.image_size;
  const uint32_t n_lines = picture.height() / side;
  for (uint32_t line = 0; line < n_lines; ++line) {
    for (uint32_t column = 0; column < picture.width() / side; ++column) {
      add_text(layout, cat(projector.tile, line + 1, "_col_", column + 1, projector.tile_end));
      layout.tiles.push_back({layout.pictures.size(), column * side, line * side, {side, side}});
      layout.parts.emplace_back();
    }
    if (line + 1 < n_lines) add_text(layout, projector.line_end);
  }
  layout.pictures.push_back(std::move(picture));
  add_text(layout, projector.whole);
  add_whole(layout, std::move(whole));
  add_text(layout, projector.whole_end);
}

// Returns the length of the shorter side: truncated to an integer, then made even.
uint32_t shorter_side(double exact) {
  const auto side = static_cast<uint32_t>(exact);
  return std::max(side + side % 2, 1u);
}

// Idefics 3: resizes the picture in its proportions to the longest edge, then to whole tiles. The
// whole picture is made from the latter. Without a longest edge in the file, it resizes to the
// nearest whole tiles at once; the reference has no limit there.
Status lay_out_tiles(const VisionConfig& config, const PictureView& picture,
                     PictureLayout& layout) {
  const uint32_t side = config.image_size;
  const Filter filter = config.projector->filter;
  if (config.longest_edge == 0) {
    const Size size = fit_pixels(picture, side, 0, uint64_t{kMaxTiles} * side * side);
    // Here the whole picture is made from the original, and with a bicubic filter.
    KINGLET_ASSIGN(Picture whole, resize(picture, {side, side}, Filter::bicubic));
    KINGLET_ASSIGN(Picture tiled, resize_into(picture, size, Filter::bicubic));
    add_tiles(config, std::move(tiled), std::move(whole), layout);
    return {};
  }
  const uint32_t edge = std::min(config.longest_edge, kMaxTilesOfSide * side);
  const double ratio = static_cast<double>(picture.width) / picture.height;
  const Size size = picture.width >= picture.height ? Size{edge, shorter_side(edge / ratio)}
                                                    : Size{shorter_side(edge * ratio), edge};
  const Size grid{(size.width + side - 1) / side, (size.height + side - 1) / side};
  KINGLET_ASSIGN(const Picture resized, resize(picture, size, filter));
  KINGLET_ASSIGN(Picture tiled,
                 resize(resized.view(), {grid.width * side, grid.height * side}, filter));
  KINGLET_ASSIGN(Picture whole, resize(tiled.view(), {side, side}, filter));
  add_tiles(config, std::move(tiled), std::move(whole), layout);
  return {};
}

// Returns the grid of tiles whose proportions are nearest to the picture's. Among equally near
// grids, it is the one with the most tiles, if the picture fills more than half of them.
Size choose_grid(const PictureView& picture, uint32_t side) {
  const float ratio = to_float(picture.width) / to_float(picture.height);
  const float area = to_float(picture.width) * to_float(picture.height);
  Size best{1, 1};
  float least = std::numeric_limits<float>::max();
  for (uint32_t n = kMinTiles; n <= kMaxFreeTiles; ++n) {
    for (uint32_t width = 1; width <= n; ++width) {
      if (n % width != 0) continue;
      const Size grid{width, n / width};
      const float distance = std::abs(ratio - to_float(grid.width) / to_float(grid.height));
      const bool fills = area > 0.5f * to_float(side * side * n);
      if (distance < least || (distance == least && fills)) best = grid;
      least = std::min(least, distance);
    }
  }
  return best;
}

// Returns a size in the picture's own proportions, within the reader's limits of rows.
Result<Size> free_size(const VisionConfig& config, const PictureView& picture) {
  const Projector& projector = *config.projector;
  const uint64_t row_pixels = uint64_t{config.row_size()} * config.row_size();
  const Size size = fit_pixels(picture, config.row_size(), projector.min_rows * row_pixels,
                               projector.max_rows * row_pixels);
  KINGLET_TRY(check_patches(config, size));
  return size;
}

// Whether a picture of LFM2-VL is cut into tiles. Numbers halfway between two multiples are rounded
// to the even one.
bool is_cut(const VisionConfig& config, const PictureView& picture) {
  const uint32_t step = config.row_size();
  const auto rounded = [&](uint32_t side) {
    const double n = std::nearbyint(static_cast<double>(side) / step);
    return std::max(n * step, static_cast<double>(config.patch_size));
  };
  const double max_pixels = static_cast<double>(config.projector->max_rows) * step * step;
  return rounded(picture.width) * rounded(picture.height) > max_pixels * kTilingFactor;
}

Status lay_out_tiles_or_free(const VisionConfig& config, const PictureView& picture,
                             PictureLayout& layout) {
  const Filter filter = config.projector->filter;
  KINGLET_ASSIGN(const Size size, free_size(config, picture));
  KINGLET_ASSIGN(Picture whole, resize(picture, size, filter));
  if (!is_cut(config, picture)) {
    add_whole(layout, std::move(whole));
    return {};
  }
  const uint32_t side = config.image_size;
  const Size grid = choose_grid(picture, side);
  KINGLET_ASSIGN(Picture tiled,
                 resize_into(picture, {grid.width * side, grid.height * side}, filter));
  add_tiles(config, std::move(tiled), std::move(whole), layout);
  return {};
}

Status lay_out_free(const VisionConfig& config, const PictureView& picture, PictureLayout& layout) {
  KINGLET_ASSIGN(const Size size, free_size(config, picture));
  KINGLET_ASSIGN(Picture whole, resize(picture, size, config.projector->filter));
  add_whole(layout, std::move(whole));
  return {};
}

Status lay_out_square(const VisionConfig& config, const PictureView& picture,
                      PictureLayout& layout) {
  KINGLET_ASSIGN(Picture whole, resize_into(picture, {config.image_size, config.image_size},
                                            config.projector->filter));
  add_whole(layout, std::move(whole));
  return {};
}

Status add_pictures(const VisionConfig& config, const PictureView& picture, PictureLayout& layout) {
  switch (config.projector->sizing) {
    case Sizing::square:
      return lay_out_square(config, picture, layout);
    case Sizing::tiles:
      return lay_out_tiles(config, picture, layout);
    case Sizing::tiles_or_free:
      return lay_out_tiles_or_free(config, picture, layout);
    case Sizing::free:
      return lay_out_free(config, picture, layout);
  }
  return {};
}

}  // namespace

Result<PictureLayout> lay_out_picture(const VisionConfig& config, const PictureView& picture) {
  KINGLET_TRY(check_picture(picture));
  PictureLayout layout;
  add_text(layout, config.projector->begin);
  KINGLET_TRY(add_pictures(config, picture, layout));
  add_text(layout, config.projector->end);
  return layout;
}

Result<size_t> largest_tile(const VisionConfig& config, Size size) {
  const PictureView picture{size.width, size.height, {}};
  KINGLET_TRY(check_size(picture));
  const Sizing sizing = config.projector->sizing;
  const size_t square = n_patches_of(config, {config.image_size, config.image_size});
  if (sizing == Sizing::square || sizing == Sizing::tiles) return square;
  KINGLET_ASSIGN(const Size whole, free_size(config, picture));
  const bool has_tiles = sizing == Sizing::tiles_or_free && is_cut(config, picture);
  return std::max(n_patches_of(config, whole), has_tiles ? square : 0);
}

}  // namespace kinglet
