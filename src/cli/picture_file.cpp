#include "cli/picture_file.h"

#include "base/format.h"
#include "cli/input.h"

#ifdef KINGLET_HAS_PICTURES
#include <jpeglib.h>
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>
#endif

namespace kinglet::cli {

#ifdef KINGLET_HAS_PICTURES

namespace {

Error damaged(const std::string& path, std::string_view why) {
  return {ErrorCode::corrupt, cat(path, " cannot be read as a picture: ", why)};
}

// Scans of a JPEG. Progressive files have about ten; each takes as long as the whole picture.
constexpr int kMostScans = 100;

// The most pixels that a byte of a file can stand for: 1,032 bytes of a PNG with a bit for each
// pixel. A JPEG without arithmetic coding has a bit for at least each block of 64.
constexpr uint64_t kMostPixelsOfByte = 8 * 1032;

Status check_pixels(const std::string& path, uint32_t width, uint32_t height, size_t n_bytes,
                    uint64_t most_pixels) {
  KINGLET_TRY(check_size({width, height, {}}));
  const uint64_t n_pixels = uint64_t{width} * height;
  if (n_pixels > most_pixels) {
    return Error{ErrorCode::invalid_argument,
                 cat(path, " is ", width, " x ", height, " pixels, expected at most ", most_pixels,
                     ": scale it down first")};
  }
  if (n_pixels / kMostPixelsOfByte <= n_bytes) return {};
  return damaged(path,
                 cat("it has ", n_bytes, " bytes, too few for ", width, " x ", height, " pixels"));
}

// Returns the file without the chunks that do not change its pixels. libpng would unpack their
// texts and keep them: a small file can hold gigabytes of them.
std::string without_texts(std::string_view file) {
  constexpr size_t kMark = 8;     // bytes at the beginning of the file
  constexpr size_t kAround = 12;  // bytes of a chunk besides its data: length, type, checksum
  constexpr std::string_view kKept[] = {"IHDR", "PLTE", "IDAT", "IEND", "tRNS",
                                        "gAMA", "cHRM", "sRGB", "iCCP", "sBIT"};
  std::string kept(file.substr(0, kMark));
  bool has_profile = false;
  for (size_t at = kMark; at + kAround <= file.size();) {
    size_t n_data = 0;
    for (size_t i = 0; i < 4; ++i) n_data = n_data << 8 | static_cast<unsigned char>(file[at + i]);
    const std::string_view type = file.substr(at + 4, 4);
    const std::string_view chunk = file.substr(at, n_data + kAround);
    at += chunk.size();
    const bool is_profile = type == "iCCP";
    const bool is_kept = std::find(std::begin(kKept), std::end(kKept), type) != std::end(kKept);
    if (!is_kept || (is_profile && has_profile)) continue;
    has_profile |= is_profile;
    kept += chunk;
  }
  return kept;
}

Result<Picture> read_png(const std::string& path, std::string_view file, uint64_t most_pixels) {
  const std::string bytes = without_texts(file);
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) {
    return damaged(path, image.message);
  }
  image.format = PNG_FORMAT_RGB;
  const Status fits = check_pixels(path, image.width, image.height, file.size(), most_pixels);
  auto picture = fits.ok() ? Picture::create(image.width, image.height) : fits.error();
  const png_color white = {255, 255, 255};
  if (!picture.ok() ||
      png_image_finish_read(&image, &white, picture.value().row(0), 0, nullptr) == 0) {
    png_image_free(&image);
    return picture.ok() ? damaged(path, image.message) : picture.error();
  }
  return picture;
}

// Returns the orientation of the camera, 1 to 8; 1: upright. Source: Exif 2.3, tag 0x0112 of the
// first directory of a TIFF structure in an APP1 segment.
unsigned exif_orientation(const jpeg_decompress_struct& jpeg) {
  constexpr std::string_view kMark{"Exif\0\0", 6};
  for (auto* marker = jpeg.marker_list; marker != nullptr; marker = marker->next) {
    const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
    if (!data.starts_with(kMark) || data.size() < kMark.size() + 8) continue;
    const std::string_view tiff = data.substr(kMark.size());
    const bool is_little = tiff.starts_with("II");
    const auto number = [&](size_t at, size_t n_bytes) {
      size_t value = 0;
      for (size_t i = 0; i < n_bytes && at + i < tiff.size(); ++i) {
        const auto byte = static_cast<unsigned char>(tiff[at + i]);
        value |= size_t{byte} << (8 * (is_little ? i : n_bytes - 1 - i));
      }
      return value;
    };
    const size_t directory = number(4, 4);
    const size_t n_entries = number(directory, 2);
    for (size_t i = 0; i < n_entries && directory + 2 + 12 * (i + 1) <= tiff.size(); ++i) {
      const size_t entry = directory + 2 + 12 * i;
      if (number(entry, 2) == 0x0112) return static_cast<unsigned>(number(entry + 8, 2));
    }
  }
  return 1;
}

// Returns the picture upright.
Result<Picture> turned(Picture picture, unsigned orientation) {
  if (orientation < 2 || orientation > 8) return picture;
  const bool swaps = orientation >= 5;
  const uint32_t width = picture.width();
  const uint32_t height = picture.height();
  KINGLET_ASSIGN(Picture out, Picture::create(swaps ? height : width, swaps ? width : height));
  for (uint32_t y = 0; y < out.height(); ++y) {
    for (uint32_t x = 0; x < out.width(); ++x) {
      const uint32_t along = swaps ? y : x;
      const uint32_t across = swaps ? x : y;
      const bool from_right = orientation == 2 || orientation == 3 || orientation >= 7;
      const bool from_bottom =
          orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
      const uint32_t from_x = from_right ? width - 1 - along : along;
      const uint32_t from_y = from_bottom ? height - 1 - across : across;
      std::memcpy(out.row(y) + size_t{x} * kChannels,
                  picture.row(from_y) + size_t{from_x} * kChannels, kChannels);
    }
  }
  return out;
}

// libjpeg leaves its functions by longjmp() when it cannot continue. Objects with destructors are
// therefore members: a function that calls setjmp() must not have any.
class JpegReader {
 public:
  JpegReader(std::string_view bytes, const std::function<bool()>& stops) {
    progress_.stops = &stops;
    progress_.manager.progress_monitor = look;
    jpeg_.err = jpeg_std_error(&error_.manager);
    error_.manager.error_exit = leave;
    error_.manager.emit_message = [](j_common_ptr jpeg, int level) {
      if (level < 0) ++jpeg->err->num_warnings;
    };
    jpeg_create_decompress(&jpeg_);
    jpeg_.progress = &progress_.manager;
    jpeg_save_markers(&jpeg_, JPEG_APP0 + 1, 0xFFFF);
    jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  // Reads what tells width() and height().
  bool begin() {
    if (setjmp(error_.place) != 0) return false;
    jpeg_read_header(&jpeg_, TRUE);
    return true;
  }

  // Reads into a picture of width() and height().
  bool read(Picture& picture) {
    if (setjmp(error_.place) != 0) return false;
    jpeg_.out_color_space = JCS_RGB;
    jpeg_start_decompress(&jpeg_);
    while (jpeg_.output_scanline < jpeg_.output_height) {
      JSAMPROW row = picture.row(jpeg_.output_scanline);
      jpeg_read_scanlines(&jpeg_, &row, 1);
    }
    return true;
  }

  uint32_t width() const { return jpeg_.image_width; }
  uint32_t height() const { return jpeg_.image_height; }
  unsigned orientation() const { return exif_orientation(jpeg_); }
  // Whether data is missing or damaged. libjpeg makes such parts grey.
  bool is_damaged() const { return error_.manager.num_warnings > 0; }
  // Why begin() or read() failed.
  kinglet::Error error(const std::string& path) const {
    switch (progress_.ended) {
      case Ended::by_caller:
        return {ErrorCode::cancelled, cat("reading ", path, " was cancelled")};
      case Ended::by_scans:
        return {ErrorCode::invalid_argument,
                cat(path, " has more than ", kMostScans, " scans: save it again with fewer first")};
      case Ended::by_data:
        break;
    }
    return damaged(path, error_.message);
  }

 private:
  struct Error {
    jpeg_error_mgr manager;
    std::jmp_buf place;
    char message[JMSG_LENGTH_MAX];
  };

  enum class Ended { by_data, by_caller, by_scans };

  struct Progress {
    jpeg_progress_mgr manager = {};
    const std::function<bool()>* stops = nullptr;
    Ended ended = Ended::by_data;
  };

  // Called by libjpeg for each row of blocks, in each scan.
  static void look(j_common_ptr jpeg) {
    auto* progress = reinterpret_cast<Progress*>(jpeg->progress);
    const int scan = reinterpret_cast<jpeg_decompress_struct*>(jpeg)->input_scan_number;
    const bool is_wanted = !*progress->stops || !(*progress->stops)();
    if (is_wanted && scan <= kMostScans) return;
    progress->ended = is_wanted ? Ended::by_scans : Ended::by_caller;
    std::longjmp(reinterpret_cast<Error*>(jpeg->err)->place, 1);
  }

  static void leave(j_common_ptr jpeg) {
    auto* error = reinterpret_cast<Error*>(jpeg->err);
    jpeg->err->format_message(jpeg, error->message);
    std::longjmp(error->place, 1);
  }

  jpeg_decompress_struct jpeg_ = {};
  Error error_ = {};
  Progress progress_ = {};
};

Result<Picture> read_jpeg(const std::string& path, std::string_view bytes,
                          const PictureLimits& limits) {
  JpegReader reader(bytes, limits.stops);
  if (!reader.begin()) return reader.error(path);
  KINGLET_TRY(check_pixels(path, reader.width(), reader.height(), bytes.size(), limits.pixels));
  KINGLET_ASSIGN(Picture picture, Picture::create(reader.width(), reader.height()));
  if (!reader.read(picture)) return reader.error(path);
  if (reader.is_damaged()) return damaged(path, "its data is damaged or ends too early");
  return turned(std::move(picture), reader.orientation());
}

}  // namespace

Result<Picture> decode_picture(const std::string& name, std::string_view bytes,
                               const PictureLimits& limits) {
  if (bytes.starts_with("\x89PNG")) return read_png(name, bytes, limits.pixels);
  if (bytes.starts_with("\xFF\xD8")) return read_jpeg(name, bytes, limits);
  return Error{ErrorCode::unsupported_feature, cat(name, " is neither a PNG nor a JPEG file")};
}

#else

Result<Picture> decode_picture(const std::string& name, std::string_view, const PictureLimits&) {
  return Error{ErrorCode::unsupported_feature,
               cat(name, ": this program was built without libpng and libjpeg")};
}

#endif

Result<Picture> read_picture(const std::string& path, const PictureLimits& limits) {
  const auto file = read_file(path);
  if (!file.ok()) return file.error();
  return decode_picture(path, file.value(), limits);
}

}  // namespace kinglet::cli
