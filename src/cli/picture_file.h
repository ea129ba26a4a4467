// Reads pictures from files, by libpng and libjpeg.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "vision/pixels.h"

namespace kinglet::cli {

// Reads a PNG or JPEG file. Turns a JPEG upright as its EXIF data says, and puts white under the
// transparent parts of a PNG. Errors: io; those of decode_picture().
Result<Picture> read_picture(const std::string& path);

// Reads a picture from the bytes of a file, which errors call `name`. Errors: corrupt;
// unsupported_feature (another format, or the program was built without the libraries);
// invalid_argument (more than most_pixels, or a side is too long).
Result<Picture> decode_picture(const std::string& name, std::string_view bytes,
                               uint64_t most_pixels = kMaxPicturePixels);

}  // namespace kinglet::cli
