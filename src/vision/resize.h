// Resizes pictures with exactly the same result as Pillow's Image.resize(): readers were trained on
// pictures that were resized by it, or by code that imitates it.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "vision/pixels.h"

namespace kinglet {

enum class Filter : uint8_t {
  bilinear,
  bicubic,  // a = -0.5
  lanczos,  // three lobes
};

// The largest side of a resized picture.
constexpr uint32_t kMaxResizedSide = 1 << 16;

struct Size {
  uint32_t width = 0;
  uint32_t height = 0;

  bool operator==(const Size&) const = default;
};

// Returns the whole picture in that size, whatever its proportions. ErrorCode::invalid_argument for
// a side of 0 or beyond the limit; out_of_memory.
Result<Picture> resize(const PictureView& picture, Size size, Filter filter);

// Returns the picture in its own proportions, as large as fits, centered on black. Errors: as
// resize().
Result<Picture> resize_into(const PictureView& picture, Size size, Filter filter);

}  // namespace kinglet
