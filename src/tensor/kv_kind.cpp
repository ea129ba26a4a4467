#include "tensor/kv_kind.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstring>

#include "base/format.h"
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

// Returns largest / max, rounded down if `max` times the result would be infinite.
float scale_for(float largest, float max) {
  const float scale = largest / max;
  return scale * max <= FLT_MAX ? scale : std::nextafter(scale, 0.0f);
}

// Rounds halves away from zero. std::round would be a function call, and adding 0.5 would round the
// largest float below 0.5 up.
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

// A block whose largest magnitude is smaller than this is stored as zeros.
constexpr float kSmallestBlock = 1e-10f;

uint64_t q8_bytes(uint64_t head_dim) { return scale_per_block(head_dim) * kKvBlock; }

void write_q8(const float* row, size_t head_dim, std::byte* codes, float* scales) {
  for (size_t from = 0; from < head_dim; from += kKvBlock) {
    const size_t n = std::min(kKvBlock, head_dim - from);
    const float largest = largest_magnitude(row + from, n);
    const bool is_zero = largest < kSmallestBlock;
    const float scale = scale_for(largest, Int8::kMax);
    auto* block = reinterpret_cast<int8_t*>(codes + from);
    std::fill_n(block, kKvBlock, int8_t{0});
    for (size_t i = 0; i < n && !is_zero; ++i) block[i] = Int8::encode(row[from + i] / scale);
    *scales++ = is_zero ? 0.0f : scale;
  }
}

void read_q8(const std::byte* codes, const float* scales, size_t begin, size_t end, float* out) {
  const auto* elements = reinterpret_cast<const int8_t*>(codes);
  for (size_t i = begin; i < end; ++i) {
    out[i - begin] = Int8::decode(elements[i]) * scales[i / kKvBlock];
  }
}

// --- 4 bits -------------------------------------------------------------------------------------

// Four floats: the vectors of SSE and wasm SIMD. Compilers do not vectorize the code below by
// themselves.
using Floats = float __attribute__((vector_size(16)));
using Ints = int32_t __attribute__((vector_size(16)));
constexpr size_t kLanes = sizeof(Floats) / sizeof(float);
constexpr size_t kVectors = kKvBlock / kLanes;

Floats splat(float x) { return Floats{x, x, x, x}; }
float sum(Floats x) { return (x[0] + x[1]) + (x[2] + x[3]); }

struct Block {
  Floats vectors[kVectors];
};

template <size_t kDistance>
void add_and_subtract(Block& block) {
  for (size_t i = 0; i < kVectors; i += 2 * kDistance) {
    for (size_t j = i; j < i + kDistance; ++j) {
      const Floats first = block.vectors[j];
      block.vectors[j] = first + block.vectors[j + kDistance];
      block.vectors[j + kDistance] = first - block.vectors[j + kDistance];
    }
  }
}

// A fast Walsh-Hadamard transform: combines elements that are 16, 8 and 4 apart, then the elements
// inside each vector.
void rotate(Block& block) {
  const Floats factor = splat(0.176776695f);  // 1 / sqrt(kKvBlock)
  static_assert(kVectors == 8);
  add_and_subtract<4>(block);
  add_and_subtract<2>(block);
  add_and_subtract<1>(block);
  for (Floats& v : block.vectors) {
    v = __builtin_shufflevector(v, v, 2, 3, 0, 1) + v * Floats{1, 1, -1, -1};
    v = __builtin_shufflevector(v, v, 1, 0, 3, 2) + v * Floats{1, -1, 1, -1};
    v *= factor;
  }
}

Floats smaller(Floats a, Floats b) { return a < b ? a : b; }
Floats larger(Floats a, Floats b) { return a < b ? b : a; }

constexpr int32_t kCodeOffset = 8;

// The codes that are tried for the largest element. For normally distributed elements, they leave
// 0.90 of the squared error of -8 alone; the best set with six more leaves 0.895.
constexpr float kLargestCodes[] = {-8.0f, -8.4f, -7.25f, -7.75f};

// Floats near this number have no fraction. Adding it to an integer puts that into the low bits.
constexpr float kRound = 12582912.0f;  // 1.5 * 2^23

// Returns the codes plus kRound, for elements whose quotients are at least -8.4.
Floats round_to_codes(Floats x, Floats inverse_scale) {
  return smaller(x * inverse_scale, splat(7.0f)) + splat(kRound);
}

// How well the codes of a block fit: with the scale Σxc / Σcc, the squared error is smaller by the
// gain (Σxc)² / Σcc than with all codes 0.
struct ScaleFit {
  float scale = 0.0f;
  float gain = 0.0f;
};

ScaleFit fit_codes(const Block& block, float inverse_scale) {
  Floats products = splat(0.0f);
  Floats squares = splat(0.0f);
  for (const Floats x : block.vectors) {
    const Floats codes = round_to_codes(x, splat(inverse_scale)) - splat(kRound);
    products += x * codes;
    squares += codes * codes;
  }
  const float product = sum(products);
  const float scale = product / sum(squares);
  return {scale, product * scale};
}

float largest_with_sign(const Block& block) {
  Floats most = splat(0.0f);
  Floats least = splat(0.0f);
  for (const Floats x : block.vectors) {
    most = larger(most, x);
    least = smaller(least, x);
  }
  const float largest = std::max({most[0], most[1], most[2], most[3]});
  const float smallest = std::min({least[0], least[1], least[2], least[3]});
  return largest > -smallest ? largest : smallest;
}

void write_block(const Block& block, KvBlockQ4& out) {
  const float largest = largest_with_sign(block);
  ScaleFit best;
  float inverse_scale = 0.0f;
  if (std::fabs(largest) >= kSmallestBlock) {
    for (const float code : kLargestCodes) {
      const ScaleFit fit = fit_codes(block, code / largest);
      if (!(fit.gain > best.gain)) continue;
      best = fit;
      inverse_scale = code / largest;
    }
  }
  out.scale = to_half(best.scale);
  if (to_float(out.scale) == 0.0f) inverse_scale = 0.0f;
  for (size_t i = 0; i < kVectors; ++i) {
    const Floats rounded = round_to_codes(block.vectors[i], splat(inverse_scale));
    const Ints codes = (reinterpret_cast<Ints>(rounded) + kCodeOffset) & 0xf;
    out.codes[2 * i] = static_cast<std::byte>(codes[0] | codes[1] << 4);
    out.codes[2 * i + 1] = static_cast<std::byte>(codes[2] | codes[3] << 4);
  }
}

uint64_t q4_bytes(uint64_t head_dim) { return scale_per_block(head_dim) * sizeof(KvBlockQ4); }

void write_q4(const float* row, size_t head_dim, std::byte* codes, float* /*scales*/) {
  auto* blocks = reinterpret_cast<KvBlockQ4*>(codes);
  for (size_t from = 0; from < head_dim; from += kKvBlock) {
    const size_t n = std::min(kKvBlock, head_dim - from);
    Block block = {};
    std::memcpy(&block, row + from, n * sizeof(float));
    for (Floats& x : block.vectors) x = larger(smaller(x, splat(kMaxHalf)), splat(-kMaxHalf));
    if (n == kKvBlock) rotate(block);
    write_block(block, blocks[from / kKvBlock]);
  }
}

void read_q4(const std::byte* codes, const float* /*scales*/, size_t begin, size_t end,
             float* out) {
  const auto* blocks = reinterpret_cast<const KvBlockQ4*>(codes);
  for (size_t i = begin; i < end; ++i) {
    const KvBlockQ4& block = blocks[i / kKvBlock];
    const auto both = static_cast<int32_t>(block.codes[i % kKvBlock / 2]);
    const int32_t code = (i % 2 == 0 ? both & 0xf : both >> 4) - kCodeOffset;
    out[i - begin] = static_cast<float>(code) * to_float(block.scale);
  }
  rotate_blocks(out, end - begin);
}

template <class Format>
constexpr KvKindInfo plain(KvKind kind, std::string_view name) {
  return {kind, name, element_bytes<Format>, no_scales, write_floats<Format>, read_floats<Format>};
}

template <class Format>
constexpr KvKindInfo scaled(KvKind kind, std::string_view name) {
  return {kind, name, element_bytes<Format>, one_scale, write_scaled<Format>, read_scaled<Format>};
}

constexpr KvKindInfo with_integers(KvKindInfo info) {
  info.has_integer_codes = true;
  return info;
}

constexpr std::array<KvKindInfo, kNKvKinds> kKinds = {
    plain<F32>(KvKind::f32, "f32"),
    plain<F16>(KvKind::f16, "f16"),
    with_integers(scaled<Int8>(KvKind::int8, "int8")),
    scaled<E4M3>(KvKind::fp8_e4m3, "fp8_e4m3"),
    scaled<E5M2>(KvKind::fp8_e5m2, "fp8_e5m2"),
    with_integers({KvKind::q8, "q8", q8_bytes, scale_per_block, write_q8, read_q8}),
    with_integers({KvKind::q4, "q4", q4_bytes, no_scales, write_q4, read_q4, true}),
};

}  // namespace

void rotate_blocks(float* row, size_t n) {
  for (size_t i = 0; i + kKvBlock <= n; i += kKvBlock) {
    Block block;
    std::memcpy(&block, row + i, sizeof block);
    rotate(block);
    std::memcpy(row + i, &block, sizeof block);
  }
}

const KvKindInfo& kv_kind_info(KvKind kind) { return kKinds[static_cast<size_t>(kind)]; }

const KvKindInfo* find_kv_kind(std::string_view name) {
  const auto row = std::find_if(kKinds.begin(), kKinds.end(),
                                [name](const KvKindInfo& info) { return info.name == name; });
  return row == kKinds.end() ? nullptr : &*row;
}

Result<KvKind> choose_kv_kind(std::string_view name) {
  if (name == "auto") return kAutoKvKind;
  if (const KvKindInfo* info = find_kv_kind(name)) return info->kind;
  return Error{ErrorCode::invalid_argument,
               cat("KV kind \"", name, "\" is unknown (known: auto, ", kv_kind_names(), ")")};
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
