// Picture files, as a client of the server can send them.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "cli/picture_file.h"
#include "fuzz/input.h"

namespace kinglet::fuzz {
namespace {

constexpr uint64_t kMostPicturePixels = 1 << 20;
constexpr uint32_t kNeverStops = 255;

// The checksum of a PNG's chunk (CRC-32).
uint32_t checksum(std::string_view data) {
  uint32_t sum = ~0u;
  for (const char c : data) {
    sum ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0xedb88320u : 0);
  }
  return ~sum;
}

std::array<char, 4> big_endian(uint32_t n) {
  return {static_cast<char>(n >> 24), static_cast<char>(n >> 16), static_cast<char>(n >> 8),
          static_cast<char>(n)};
}

// Corrects the checksums of a PNG: libpng would refuse nearly every change at its checksum.
void seal(std::string& png) {
  constexpr size_t kMark = 8;     // bytes at the beginning of the file
  constexpr size_t kAround = 12;  // bytes of a chunk besides its data: length, type, checksum
  for (size_t at = kMark; at + kAround <= png.size();) {
    uint32_t n_data = 0;
    for (size_t i = 0; i < 4; ++i) n_data = n_data << 8 | static_cast<unsigned char>(png[at + i]);
    if (n_data > png.size() - at - kAround) return;
    const auto sum = big_endian(checksum(std::string_view(png).substr(at + 4, 4 + n_data)));
    std::copy(sum.begin(), sum.end(), png.begin() + static_cast<ptrdiff_t>(at + 8 + n_data));
    at += kAround + n_data;
  }
}

}  // namespace

void picture(Bytes bytes) {
  Input input(bytes);
  const uint64_t most_pixels = input.flag() ? kMostPicturePixels : input.number<uint16_t>();
  uint32_t n_looks = input.up_to(kNeverStops);
  const bool is_sealed = input.flag();
  std::string file(input.rest_text());
  if (is_sealed) seal(file);
  bool has_stopped = false;
  const auto stops = [&] {
    if (n_looks == kNeverStops) return false;
    has_stopped = n_looks == 0;
    n_looks -= has_stopped ? 0 : 1;
    return has_stopped;
  };
  const auto picture =
      cli::decode_picture("a picture", file, {.pixels = most_pixels, .stops = stops});
  if (picture.ok()) {
    check(!has_stopped, "a picture that was cancelled");
    const auto [width, height, pixels] = picture.value().view();
    check(width > 0 && height > 0 && uint64_t{width} * height <= most_pixels,
          "a picture of a size that is refused");
    check(pixels.size() == size_t{width} * height * kChannels, "pixels of another number");
    return;
  }
  const Error& error = picture.error();
  check(!error.message.empty(), "an error without words");
  check(has_stopped == (error.code == ErrorCode::cancelled), "cancelled, or not, by itself");
  check(error.code == ErrorCode::corrupt || error.code == ErrorCode::unsupported_feature ||
            error.code == ErrorCode::invalid_argument || error.code == ErrorCode::cancelled,
        "an unexpected error");
}

}  // namespace kinglet::fuzz
