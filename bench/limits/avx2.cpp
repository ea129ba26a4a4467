#include <immintrin.h>

#include "limits/limits.h"

namespace kinglet::limits {
namespace {

struct Avx2 {
  using Vector = __m256i;
  static Vector load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
  static Vector add(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
};

__m256i splat_word(const void* p) {
  int32_t word;
  std::memcpy(&word, p, sizeof word);
  return _mm256_set1_epi32(word);
}

struct Codes {
  using Sum = __m256i;
  static constexpr uint32_t kRows = 2;
  static constexpr uint32_t kTokens = 4;
  static constexpr uint32_t kProducts = 32;
  static __m256i splat(const void* p) { return splat_word(p); }
};

struct Nibbles : Codes {
  using Weights = __m256i;
  static Weights as_weights(const void* p) { return Avx2::load(p); }
  static Sum add(Sum sum, Weights w, __m256i x) {
    return _mm256_add_epi16(sum, _mm256_maddubs_epi16(w, x));
  }
};

// The sign of the weight moves to the activation.
struct Bytes : Codes {
  struct Weights {
    __m256i weights;
    __m256i magnitudes;
  };
  static Weights as_weights(const void* p) {
    const __m256i w = Avx2::load(p);
    return {w, _mm256_abs_epi8(w)};
  }
  static Sum add(Sum sum, Weights w, __m256i x) {
    const __m256i pairs = _mm256_maddubs_epi16(w.magnitudes, _mm256_sign_epi8(x, w.weights));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
};

struct Floats {
  using Sum = __m256;
  using Weights = __m256;
  static constexpr uint32_t kRows = 3;
  static constexpr uint32_t kTokens = 4;
  static constexpr uint32_t kProducts = 8;
  static Weights as_weights(const void* p) { return _mm256_loadu_ps(static_cast<const float*>(p)); }
  static __m256 splat(const void* p) { return _mm256_castsi256_ps(splat_word(p)); }
  static Sum add(Sum sum, Weights w, __m256 x) { return _mm256_fmadd_ps(w, x, sum); }
};

}  // namespace

const Limits& avx2_limits() {
  static constexpr Limits kLimits = {
      "avx2",
      run_read<Avx2>,
      {multiplication<Nibbles>(), multiplication<Bytes>(), multiplication<Floats>()}};
  return kLimits;
}

}  // namespace kinglet::limits
