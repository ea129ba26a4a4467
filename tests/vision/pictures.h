// Pictures that are made by a formula, and another implementation's results for them:
// tests/fixtures/README.md describes the files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "model/reference.h"
#include "vision/pixels.h"

namespace kinglet {

struct TestPicture {
  uint32_t width;
  uint32_t height;
  std::vector<uint8_t> pixels;

  PictureView view() const { return {width, height, pixels}; }
};

// Makes the same picture as picture_of() in scripts/vision-answers.cpp: ramps, squares and grain.
inline TestPicture picture_of(uint32_t width, uint32_t height) {
  TestPicture picture{width, height, {}};
  const int w = static_cast<int>(width);
  const int h = static_cast<int>(height);
  for (int y = 0; y < h; ++y) {
    for (int x = 0; x < w; ++x) {
      const int ramps[] = {255 * x / std::max(w - 1, 1), 255 * y / std::max(h - 1, 1),
                           255 * (x + y) / std::max(w + h - 2, 1)};
      const int square = (x / 8 + y / 8) % 2 == 0 ? 0 : 40;
      for (int c = 0; c < 3; ++c) {
        const int grain = (13 * x + 29 * y + 17 * c) % 31;
        picture.pixels.push_back(
            static_cast<uint8_t>(std::clamp(ramps[c] - square + grain, 0, 255)));
      }
    }
  }
  return picture;
}

struct ReferencePart {
  std::string text;
  size_t n_rows = 0;
  std::vector<double> rows;   // rows 0, n / 3, 2 n / 3 and n - 1
  std::vector<double> mean;   // of all rows
  std::vector<double> slope;  // the mean of row i times (i + 1) / n
};

struct ReferencePicture {
  uint32_t width = 0;
  uint32_t height = 0;
  std::vector<ReferencePart> parts;
};

inline std::string unescaped(std::string text) {
  for (size_t at = 0; (at = text.find("\\n", at)) != std::string::npos;) text.replace(at, 2, "\n");
  return text;
}

// In the file, each part is on a line of its own.
inline std::vector<ReferencePicture> read_pictures(std::string_view fixture) {
  const std::string json = read_text_fixture(fixture);
  std::vector<ReferencePicture> pictures;
  const auto number = [](const std::string& line, std::string_view key) {
    const size_t at = line.find(key);
    return static_cast<uint32_t>(std::atoi(line.c_str() + at + key.size()));
  };
  for (size_t from = 0, end; from < json.size(); from = end + 1) {
    end = std::min(json.find('\n', from), json.size());
    const std::string line = json.substr(from, end - from);
    constexpr std::string_view kText = "{\"text\":\"";
    if (line.starts_with("{\"width\":")) {
      pictures.push_back({number(line, "\"width\":"), number(line, "\"height\":"), {}});
    } else if (line.starts_with(kText)) {
      const std::string text = line.substr(kText.size(), line.rfind('"') - kText.size());
      pictures.back().parts.push_back({unescaped(text), 0, {}, {}, {}});
    } else if (line.starts_with("{\"n_rows\":")) {
      ReferencePart part;
      part.n_rows = number(line, "\"n_rows\":");
      size_t at = 0;
      part.rows = read_numbers(line, "rows", at);
      part.mean = read_numbers(line, "mean", at);
      part.slope = read_numbers(line, "slope", at);
      pictures.back().parts.push_back(part);
    }
  }
  return pictures;
}

}  // namespace kinglet
