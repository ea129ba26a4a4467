#include "tensor/kv_kind.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstring>

#include "base/fp8.h"
#include "base/half.h"

namespace kinglet {
namespace {

constexpr float kMaxHalf = 65504.0f;

float largest_magnitude(const float* x, size_t n) {
  float largest = 0.0f;
  for (size_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(x[i]));
  return largest;
}

// largest / max, but that `max` times it is finite for the largest floats too.
float scale_for(float largest, float max) {
  const float scale = largest / max;
  return scale * max <= FLT_MAX ? scale : std::nextafter(scale, 0.0f);
}

// Halves go away from zero. std::round is a call, and the added half would round the largest float
// below 0.5 up.
int32_t round_half_away(float x) {
  const auto whole = static_cast<int32_t>(x);
  const float rest = x - static_cast<float>(whole);
  return whole + static_cast<int32_t>(rest >= 0.5f) - static_cast<int32_t>(rest <= -0.5f);
}

// --- Floats -------------------------------------------------------------------------------------

struct F32 {
  using Element = float;
  static Element encode(float x) { return x; }
  static float decode(Element x) { return x; }
};

struct F16 {
  using Element = Half;
  static Element encode(float x) { return to_half(std::clamp(x, -kMaxHalf, kMaxHalf)); }
  static float decode(Element x) { return to_float(x); }
};

struct Int8 {
  using Element = int8_t;
  static constexpr float kMax = 127.0f;
  static Element encode(float x) {
    return static_cast<int8_t>(round_half_away(std::clamp(x, -kMax, kMax)));
  }
  static float decode(Element x) { return x; }
};

struct E4M3 {
  using Element = Fp8E4M3;
  static constexpr float kMax = kMaxFp8E4M3;
  static Element encode(float x) { return to_fp8_e4m3(x); }
  static float decode(Element x) { return to_float(x); }
};

struct E5M2 {
  using Element = Fp8E5M2;
  static constexpr float kMax = kMaxFp8E5M2;
  static Element encode(float x) { return to_fp8_e5m2(x); }
  static float decode(Element x) { return to_float(x); }
};

uint64_t no_scales(uint64_t) { return 0; }
uint64_t one_scale(uint64_t) { return 1; }
uint64_t scale_per_block(uint64_t head_dim) { return (head_dim + kKvBlock - 1) / kKvBlock; }

template <class Format>
uint64_t element_bytes(uint64_t head_dim) {
  return head_dim * sizeof(typename Format::Element);
}

template <class Format>
void write_floats(const float* row, size_t head_dim, std::byte* codes, float* /*scales*/) {
  auto* out = reinterpret_cast<typename Format::Element*>(codes);
  for (size_t i = 0; i < head_dim; ++i) out[i] = Format::encode(row[i]);
}

template <class Format>
void read_floats(const std::byte* codes, const float* /*scales*/, size_t begin, size_t end,
                 float* out) {
  const auto* elements = reinterpret_cast<const typename Format::Element*>(codes);
  for (size_t i = begin; i < end; ++i) out[i - begin] = Format::decode(elements[i]);
}

// --- One scale a row ----------------------------------------------------------------------------

template <class Format>
void write_scaled(const float* row, size_t head_dim, std::byte* codes, float* scales) {
  const float scale = std::max(scale_for(largest_magnitude(row, head_dim), Format::kMax), FLT_MIN);
  auto* out = reinterpret_cast<typename Format::Element*>(codes);
  for (size_t i = 0; i < head_dim; ++i) out[i] = Format::encode(row[i] / scale);
  *scales = scale;
}

template <class Format>
void read_scaled(const std::byte* codes, const float* scales, size_t begin, size_t end,
                 float* out) {
  const auto* elements = reinterpret_cast<const typename Format::Element*>(codes);
  for (size_t i = begin; i < end; ++i) out[i - begin] = Format::decode(elements[i]) * *scales;
}

// --- One scale a block --------------------------------------------------------------------------

// Below, a block is zero.
constexpr float kSmallestBlock = 1e-10f;

struct Q8 {
  static constexpr size_t kBytes = kKvBlock;
  static constexpr float kMax = 127.0f;
  static constexpr float kMin = -127.0f;
  static void pack(const int32_t* codes, std::byte* out) {
    for (size_t i = 0; i < kKvBlock; ++i) out[i] = static_cast<std::byte>(codes[i]);
  }
  static void unpack(const std::byte* bytes, int32_t* codes) {
    for (size_t i = 0; i < kKvBlock; ++i) codes[i] = static_cast<int8_t>(bytes[i]);
  }
};

struct Q4 {
  static constexpr size_t kBytes = kKvBlock / 2;
  static constexpr float kMax = 7.0f;
  static constexpr float kMin = -8.0f;
  static constexpr int32_t kOffset = 8;
  static void pack(const int32_t* codes, std::byte* out) {
    for (size_t i = 0; i < kBytes; ++i) {
      const int32_t low = codes[2 * i] + kOffset;
      const int32_t high = codes[2 * i + 1] + kOffset;
      out[i] = static_cast<std::byte>(low | high << 4);
    }
  }
  static void unpack(const std::byte* bytes, int32_t* codes) {
    for (size_t i = 0; i < kBytes; ++i) {
      const auto byte = static_cast<int32_t>(bytes[i]);
      codes[2 * i] = (byte & 0xf) - kOffset;
      codes[2 * i + 1] = (byte >> 4) - kOffset;
    }
  }
};

template <class Format>
uint64_t block_bytes(uint64_t head_dim) {
  return scale_per_block(head_dim) * Format::kBytes;
}

template <class Format>
void write_blocks(const float* row, size_t head_dim, std::byte* codes, float* scales) {
  for (size_t from = 0; from < head_dim; from += kKvBlock) {
    const size_t n = std::min(kKvBlock, head_dim - from);
    const float largest = largest_magnitude(row + from, n);
    const bool is_zero = largest < kSmallestBlock;
    const float scale = scale_for(largest, Format::kMax);
    int32_t block[kKvBlock] = {};
    for (size_t i = 0; i < n && !is_zero; ++i) {
      block[i] = round_half_away(std::clamp(row[from + i] / scale, Format::kMin, Format::kMax));
    }
    Format::pack(block, codes);
    codes += Format::kBytes;
    *scales++ = is_zero ? 0.0f : scale;
  }
}

template <class Format>
void read_blocks(const std::byte* codes, const float* scales, size_t begin, size_t end,
                 float* out) {
  for (size_t from = begin; from < end; from += kKvBlock) {
    int32_t block[kKvBlock];
    Format::unpack(codes + from / kKvBlock * Format::kBytes, block);
    const float scale = scales[from / kKvBlock];
    const size_t n = std::min(kKvBlock, end - from);
    for (size_t i = 0; i < n; ++i) *out++ = static_cast<float>(block[i]) * scale;
  }
}

template <class Format>
constexpr KvKindInfo plain(KvKind kind, std::string_view name) {
  return {kind, name, element_bytes<Format>, no_scales, write_floats<Format>, read_floats<Format>};
}

template <class Format>
constexpr KvKindInfo scaled(KvKind kind, std::string_view name) {
  return {kind, name, element_bytes<Format>, one_scale, write_scaled<Format>, read_scaled<Format>};
}

template <class Format>
constexpr KvKindInfo blocks(KvKind kind, std::string_view name) {
  return {
      kind, name, block_bytes<Format>, scale_per_block, write_blocks<Format>, read_blocks<Format>};
}

constexpr std::array<KvKindInfo, kNKvKinds> kKinds = {
    plain<F32>(KvKind::f32, "f32"),
    plain<F16>(KvKind::f16, "f16"),
    scaled<Int8>(KvKind::int8, "int8"),
    scaled<E4M3>(KvKind::fp8_e4m3, "fp8_e4m3"),
    scaled<E5M2>(KvKind::fp8_e5m2, "fp8_e5m2"),
    blocks<Q8>(KvKind::q8, "q8"),
    blocks<Q4>(KvKind::q4, "q4"),
};

}  // namespace

const KvKindInfo& kv_kind_info(KvKind kind) { return kKinds[static_cast<size_t>(kind)]; }

const KvKindInfo* find_kv_kind(std::string_view name) {
  const auto row = std::find_if(kKinds.begin(), kKinds.end(),
                                [name](const KvKindInfo& info) { return info.name == name; });
  return row == kKinds.end() ? nullptr : &*row;
}

std::string kv_kind_names() {
  std::string names;
  for (const KvKindInfo& info : kKinds) {
    if (!names.empty()) names += ", ";
    names += info.name;
  }
  return names;
}

}  // namespace kinglet
