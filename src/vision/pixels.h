// Pictures in the form that the core reads: opaque pixels, the right way up. The caller decodes
// image files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "base/result.h"

namespace kinglet {

constexpr uint32_t kChannels = 3;  // red, green, blue

// Limits of input pictures: the largest side of a browser's canvas, and 0.8 GB of pixels.
constexpr uint32_t kMaxPictureSide = 1 << 16;
constexpr uint64_t kMaxPicturePixels = 1 << 28;

// A view of pixels that someone else owns, [height][width][kChannels].
struct PictureView {
  uint32_t width = 0;
  uint32_t height = 0;
  std::span<const uint8_t> pixels;
};

// Checks the size. ErrorCode::invalid_argument for a side of 0 or a picture beyond the limits.
Status check_size(const PictureView& picture);

// Checks the size and that it matches the number of pixel bytes. Errors: as check_size().
Status check_picture(const PictureView& picture);

// A picture that owns its pixels.
class Picture {
 public:
  Picture() = default;

  // Makes a black picture. ErrorCode::out_of_memory.
  static Result<Picture> create(uint32_t width, uint32_t height);

  uint32_t width() const { return width_; }
  uint32_t height() const { return height_; }
  uint8_t* row(uint32_t y) { return reinterpret_cast<uint8_t*>(memory_.data()) + offset(y); }
  const uint8_t* row(uint32_t y) const {
    return reinterpret_cast<const uint8_t*>(memory_.data()) + offset(y);
  }
  PictureView view() const {
    return {width_, height_, {row(0), size_t{height_} * width_ * kChannels}};
  }

 private:
  size_t offset(uint32_t y) const { return size_t{y} * width_ * kChannels; }

  uint32_t width_ = 0;
  uint32_t height_ = 0;
  AlignedBuffer memory_;
};

}  // namespace kinglet
