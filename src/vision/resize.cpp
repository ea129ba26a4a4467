#include "vision/resize.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/format.h"
#include "base/sin_cos.h"

namespace kinglet {
namespace {

// Weights are integers with this many bits after the binary point, as in Pillow: 8 bits are for the
// pixel, 2 for sums.
constexpr int kFractionBits = 32 - 8 - 2;
constexpr int32_t kHalf = 1 << (kFractionBits - 1);

double reach_of(Filter filter) {
  switch (filter) {
    case Filter::bilinear:
      return 1;
    case Filter::bicubic:
      return 2;
    case Filter::lanczos:
      return 3;
  }
  return 0;
}

double sinc(double x) {
  if (x == 0) return 1;
  const double angle = x * std::numbers::pi;
  return sin_cos(angle).sin / angle;
}

double weight_at(Filter filter, double x) {
  if (filter == Filter::lanczos) return -3 <= x && x < 3 ? sinc(x) * sinc(x / 3) : 0;
  x = std::abs(x);
  if (filter == Filter::bilinear) return x < 1 ? 1 - x : 0;
  constexpr double kA = -0.5;
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0;
}

// For each pixel of a resized line: the input pixels that it is computed from, and their weights.
struct Taps {
  struct Span {
    uint32_t first;
    uint32_t n;
  };
  std::vector<Span> spans;       // [n_to]
  std::vector<int32_t> weights;  // [n_to][stride]
  uint32_t stride = 0;

  const int32_t* of(size_t i) const { return weights.data() + i * stride; }
};

Taps make_taps(uint32_t n_from, uint32_t n_to, Filter filter) {
  const double scale = static_cast<double>(n_from) / n_to;
  const double spread = std::max(scale, 1.0);  // a smaller picture averages
  const double reach = reach_of(filter) * spread;
  Taps taps;
  taps.stride = static_cast<uint32_t>(std::ceil(reach)) * 2 + 1;
  taps.spans.reserve(n_to);
  taps.weights.assign(size_t{n_to} * taps.stride, 0);
  std::vector<double> exact(taps.stride);
  for (uint32_t i = 0; i < n_to; ++i) {
    const double center = (i + 0.5) * scale;
    const auto first = static_cast<uint32_t>(std::max(center - reach + 0.5, 0.0));
    const auto end =
        static_cast<uint32_t>(std::min(center + reach + 0.5, static_cast<double>(n_from)));
    const uint32_t n = end - first;
    double sum = 0;
    for (uint32_t k = 0; k < n; ++k) {
      exact[k] = weight_at(filter, (k + first - center + 0.5) * (1 / spread));
      sum += exact[k];
    }
    for (uint32_t k = 0; k < n; ++k) {
      const double weight = sum != 0 ? exact[k] / sum : exact[k];
      // Pillow's rounding: adds half a unit away from zero, then truncates.
      taps.weights[size_t{i} * taps.stride + k] =
          static_cast<int32_t>(std::ldexp(weight, kFractionBits) + (weight < 0 ? -0.5 : 0.5));
    }
    taps.spans.push_back({first, n});
  }
  return taps;
}

uint8_t to_byte(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

void resize_line(const uint8_t* from, const Taps& taps, uint8_t* to) {
  for (size_t i = 0; i < taps.spans.size(); ++i) {
    const auto [first, n] = taps.spans[i];
    const int32_t* weights = taps.of(i);
    const uint8_t* pixel = from + size_t{first} * kChannels;
    int32_t sums[kChannels] = {kHalf, kHalf, kHalf};
    for (uint32_t k = 0; k < n; ++k, pixel += kChannels) {
      for (uint32_t c = 0; c < kChannels; ++c) sums[c] += pixel[c] * weights[k];
    }
    for (uint32_t c = 0; c < kChannels; ++c) to[i * kChannels + c] = to_byte(sums[c]);
  }
}

// Resizes each line once, when a line of the result first needs it, and keeps it as long as others
// need it.
class LineRing {
 public:
  LineRing(const PictureView& picture, const Taps& taps, uint32_t n_lines)
      : picture_(picture),
        taps_(taps),
        n_bytes_(taps.spans.size() * kChannels),
        n_lines_(n_lines),
        lines_(n_bytes_ * n_lines) {}

  // Provides the lines [first, first + n). `first` never decreases from call to call.
  void fetch(uint32_t first, uint32_t n) {
    next_ = std::max(next_, first);
    for (; next_ < first + n; ++next_) {
      const uint8_t* from = picture_.pixels.data() + size_t{next_} * picture_.width * kChannels;
      resize_line(from, taps_, lines_.data() + next_ % n_lines_ * n_bytes_);
    }
  }
  const uint8_t* line(uint32_t y) const { return lines_.data() + y % n_lines_ * n_bytes_; }
  size_t n_bytes() const { return n_bytes_; }

 private:
  const PictureView& picture_;
  const Taps& taps_;
  size_t n_bytes_;
  uint32_t n_lines_;
  uint32_t next_ = 0;
  std::vector<uint8_t> lines_;
};

void add_lines(const LineRing& ring, const Taps::Span& span, const int32_t* weights,
               std::vector<int32_t>& sums) {
  std::fill(sums.begin(), sums.end(), kHalf);
  for (uint32_t k = 0; k < span.n; ++k) {
    const uint8_t* line = ring.line(span.first + k);
    const int32_t weight = weights[k];
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += line[i] * weight;
  }
}

Status check_size(Size size) {
  if (size.width >= 1 && size.height >= 1 && size.width <= kMaxResizedSide &&
      size.height <= kMaxResizedSide) {
    return {};
  }
  return Error{ErrorCode::invalid_argument,
               cat("a picture cannot be resized to ", size.width, " x ", size.height,
                   " pixels, expected sides of 1 to ", kMaxResizedSide)};
}

// Returns the length of a scaled side, at most `limit`.
uint32_t scaled(uint32_t side, float scale, uint32_t limit) {
  return std::min(static_cast<uint32_t>(std::ceil(static_cast<float>(side) * scale)), limit);
}

}  // namespace

Result<Picture> resize(const PictureView& picture, Size size, Filter filter) {
  KINGLET_TRY(check_size(size));
  KINGLET_ASSIGN(Picture resized, Picture::create(size.width, size.height));
  const Taps across = make_taps(picture.width, size.width, filter);
  const Taps down = make_taps(picture.height, size.height, filter);
  LineRing ring(picture, across, std::min(down.stride, picture.height));
  std::vector<int32_t> sums(ring.n_bytes());
  for (uint32_t y = 0; y < size.height; ++y) {
    const Taps::Span& span = down.spans[y];
    ring.fetch(span.first, span.n);
    add_lines(ring, span, down.of(y), sums);
    std::transform(sums.begin(), sums.end(), resized.row(y), to_byte);
  }
  return resized;
}

Result<Picture> resize_into(const PictureView& picture, Size size, Filter filter) {
  KINGLET_TRY(check_size(size));
  // The same operations and float width as in the reference, so that no side is off by a pixel.
  const float scale =
      std::min(static_cast<float>(size.width) / static_cast<float>(picture.width),
               static_cast<float>(size.height) / static_cast<float>(picture.height));
  const Size inner{scaled(picture.width, scale, size.width),
                   scaled(picture.height, scale, size.height)};
  KINGLET_ASSIGN(Picture resized, resize(picture, inner, filter));
  if (inner == size) return resized;
  KINGLET_ASSIGN(Picture framed, Picture::create(size.width, size.height));
  const uint32_t left = (size.width - inner.width) / 2;
  const uint32_t top = (size.height - inner.height) / 2;
  for (uint32_t y = 0; y < inner.height; ++y) {
    std::copy_n(resized.row(y), size_t{inner.width} * kChannels,
                framed.row(top + y) + size_t{left} * kChannels);
  }
  return framed;
}

}  // namespace kinglet
