#if defined(__GNUC__) && !defined(__clang__)
// GCC 12's own intrinsics start from uninitialized vectors (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include "limits/limits.h"

namespace kinglet::limits {
namespace {

struct Avx512 {
  using Vector = __m512i;
  static Vector load(const void* p) { return _mm512_loadu_si512(p); }
  static Vector add(Vector a, Vector b) { return _mm512_add_epi32(a, b); }
};

__m512i splat_word(const void* p) {
  int32_t word;
  std::memcpy(&word, p, sizeof word);
  return _mm512_set1_epi32(word);
}

struct Codes {
  using Sum = __m512i;
  using Weights = __m512i;
  static constexpr uint32_t kRows = 4;
  static constexpr uint32_t kTokens = 6;
  static constexpr uint32_t kProducts = 64;
  static Weights as_weights(const void* p) { return Avx512::load(p); }
  static __m512i splat(const void* p) { return splat_word(p); }
  static Sum add(Sum sum, Weights w, __m512i x) { return _mm512_dpbusd_epi32(sum, w, x); }
};

struct Floats {
  using Sum = __m512;
  using Weights = __m512;
  static constexpr uint32_t kRows = 4;
  static constexpr uint32_t kTokens = 6;
  static constexpr uint32_t kProducts = 16;
  static Weights as_weights(const void* p) { return _mm512_loadu_ps(p); }
  static __m512 splat(const void* p) { return _mm512_castsi512_ps(splat_word(p)); }
  static Sum add(Sum sum, Weights w, __m512 x) { return _mm512_fmadd_ps(w, x, sum); }
};

}  // namespace

const Limits& avx512_vnni_limits() {
  static constexpr Limits kLimits = {
      "avx512-vnni",
      run_read<Avx512>,
      {multiplication<Codes>(), multiplication<Codes>(), multiplication<Floats>()}};
  return kLimits;
}

}  // namespace kinglet::limits
