// Reads pictures from files, by libpng and libjpeg.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "vision/pixels.h"

namespace kinglet::cli {

struct PictureLimits {
  uint64_t pixels = kMaxPicturePixels;
  // Called again and again while a JPEG is decoded; returns whether to stop. Empty: never.
  std::function<bool()> stops = {};
};

// Reads a PNG or JPEG file. Turns a JPEG upright as its EXIF data says, and puts white under the
// transparent parts of a PNG. Errors: io; those of decode_picture().
Result<Picture> read_picture(const std::string& path, const PictureLimits& limits);

// Reads a picture from the bytes of a file, which errors call `name`. Its size is checked before
// anything is decoded or memory is taken for it. Errors: corrupt; unsupported_feature (another
// format, or the program was built without the libraries); invalid_argument (more than
// limits.pixels, a side is too long, or a JPEG of more than 100 scans); cancelled.
Result<Picture> decode_picture(const std::string& name, std::string_view bytes,
                               const PictureLimits& limits);

}  // namespace kinglet::cli
