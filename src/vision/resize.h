// Pictures in other sizes, to the bit as Pillow's Image.resize() makes them: readers were trained
// on pictures that it, or what is made after it, resized.
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

// The largest side of a picture that is made.
constexpr uint32_t kMaxResizedSide = 1 << 16;

struct Size {
  uint32_t width = 0;
  uint32_t height = 0;

  bool operator==(const Size&) const = default;
};

// The whole picture in that size, whatever its proportions. ErrorCode::invalid_argument: a side of
// 0 or beyond the limit; out_of_memory.
Result<Picture> resize(const PictureView& picture, Size size, Filter filter);

// The picture in its proportions, as large as fits, in the middle of black. Errors: the same.
Result<Picture> resize_into(const PictureView& picture, Size size, Filter filter);

}  // namespace kinglet
