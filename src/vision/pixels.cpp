#include "vision/pixels.h"

#include <algorithm>

#include "base/format.h"

namespace kinglet {

Status check_size(const PictureView& picture) {
  const uint64_t n_pixels = uint64_t{picture.width} * picture.height;
  if (n_pixels == 0 || picture.width > kMaxPictureSide || picture.height > kMaxPictureSide ||
      n_pixels > kMaxPicturePixels) {
    return Error{ErrorCode::invalid_argument,
                 cat("the picture is ", picture.width, " x ", picture.height,
                     " pixels, expected sides of 1 to ", kMaxPictureSide, " and at most ",
                     kMaxPicturePixels, " pixels: scale it down first")};
  }
  return {};
}

Status check_picture(const PictureView& picture) {
  KINGLET_TRY(check_size(picture));
  const uint64_t n_pixels = uint64_t{picture.width} * picture.height;
  if (picture.pixels.size() == n_pixels * kChannels) return {};
  return Error{ErrorCode::invalid_argument,
               cat("a picture of ", picture.width, " x ", picture.height, " pixels has ",
                   picture.pixels.size(), " bytes, expected ", n_pixels * kChannels,
                   " of red, green and blue")};
}

Result<Picture> Picture::create(uint32_t width, uint32_t height) {
  Picture picture;
  picture.width_ = width;
  picture.height_ = height;
  KINGLET_ASSIGN(picture.memory_,
                 AlignedBuffer::allocate(uint64_t{width} * height * kChannels, "a picture"));
  std::fill_n(picture.row(0), size_t{height} * width * kChannels, uint8_t{0});
  return picture;
}

}  // namespace kinglet
