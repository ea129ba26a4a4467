// Pictures from files, by libpng and libjpeg.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "vision/pixels.h"

namespace kinglet::cli {

// A PNG or JPEG file, the right way up as its EXIF says, on white where it is transparent.
// ErrorCode::io, corrupt; unsupported_feature (another format, or a program without the libraries).
Result<Picture> read_picture(const std::string& path);

// The same of a file's bytes. `name` is what errors call it. ErrorCode::invalid_argument: more than
// so many pixels, or a side that is too long.
Result<Picture> decode_picture(const std::string& name, std::string_view bytes,
                               uint64_t most_pixels = kMaxPicturePixels);

}  // namespace kinglet::cli
