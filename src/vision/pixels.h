// Pictures as the core takes them: opaque pixels, the right way up. Decoding is the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "base/result.h"

namespace kinglet {

constexpr uint32_t kChannels = 3;  // red, green, blue

// Limits of a picture that is given: what a browser's canvas can hold, and 1.6 GB of pixels.
constexpr uint32_t kMaxPictureSide = 1 << 16;
constexpr uint64_t kMaxPicturePixels = 1 << 29;

// Somebody else's pixels, [height][width][kChannels].
struct PictureView {
  uint32_t width = 0;
  uint32_t height = 0;
  std::span<const uint8_t> pixels;
};

// ErrorCode::invalid_argument: a side of 0, or a picture beyond the limits.
Status check_size(const PictureView& picture);

// The same, and pixels that are not as many.
Status check_picture(const PictureView& picture);

// Pixels of its own.
class Picture {
 public:
  Picture() = default;

  // Black. ErrorCode::out_of_memory.
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
