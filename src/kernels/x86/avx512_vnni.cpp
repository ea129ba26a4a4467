// AVX-512 with VNNI: vectors of 16 rows, 8-bit dot products summed in 32 bits.
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12's own intrinsics start from uninitialized vectors (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <cstring>

#include "kernels/instruction_sets.h"
#include "kernels/vector/kernels.h"
#include "kernels/x86/avx2_vector.h"

namespace kinglet {
namespace {

struct Avx512Vnni {
  using Float = __m512;
  using Int = __m512i;
  struct Codes {
    int8_t codes[4];
  };
  using Bytes = __m512i;
  using Unsigned = __m512i;
  using Signed = __m512i;
  static constexpr size_t kLanes = 16;
  static constexpr TileTokens kTokens{
      .q4_0 = 8, .q5_0 = 8, .q8_0 = 8, .q4_k = 8, .q6_k = 8, .pairs = 8, .floats = 6};
  static constexpr size_t kNibbleSteps = 8;
  static constexpr size_t kCopies = 1;
  static constexpr bool kRollSteps = false;
  static constexpr bool kRollNibbles = false;
  static constexpr bool kSumsSevenBits = true;
  static constexpr int32_t kSignedOffset = 128;

  static Float load(const float* p) { return _mm512_loadu_ps(p); }
  static Float load_half(const void* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
  }
  static Float load_twice(const float* p) {
    const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    return _mm512_permutexvar_ps(twice, _mm512_castps256_ps512(_mm256_loadu_ps(p)));
  }
  static Float swap_neighbours(Float x) { return _mm512_permute_ps(x, 0b10110001); }
  static void store(float* p, Float x) { _mm512_storeu_ps(p, x); }
  static Float splat(float x) { return _mm512_set1_ps(x); }
  static Float add(Float a, Float b) { return _mm512_add_ps(a, b); }
  static Float sub_float(Float a, Float b) { return _mm512_sub_ps(a, b); }
  static Float mul(Float a, Float b) { return _mm512_mul_ps(a, b); }
  static Float div(Float a, Float b) { return _mm512_div_ps(a, b); }
  static Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
  // If an operand is NaN, the instructions return the second one.
  static Float min(Float a, Float b) { return _mm512_min_ps(b, a); }
  static Float max(Float a, Float b) { return _mm512_max_ps(b, a); }
  static Float abs(Float x) { return _mm512_abs_ps(x); }
  static float horizontal_sum(Float x) { return _mm512_reduce_add_ps(x); }
  static float horizontal_max(Float x) { return _mm512_reduce_max_ps(x); }
  static Int as_ints(Float x) { return _mm512_castps_si512(x); }
  static Int max_int(Int a, Int b) { return _mm512_max_epi32(a, b); }
  static int32_t horizontal_max_int(Int x) { return _mm512_reduce_max_epi32(x); }
  static Float add_exponent(Float p, Float shifted) {
    const Int power = _mm512_slli_epi32(_mm512_castps_si512(shifted), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(p), power));
  }

  static Float broadcast(const float (&x)[kCopies]) { return splat(x[0]); }
  static Int broadcast_int(const int32_t (&x)[kCopies]) { return splat_int(x[0]); }
  static Int splat_int(int32_t x) { return _mm512_set1_epi32(x); }
  static Int add_int(Int a, Int b) { return _mm512_add_epi32(a, b); }
  static Int sub(Int a, Int b) { return _mm512_sub_epi32(a, b); }
  static Int mul_int(Int a, Int b) { return _mm512_mullo_epi32(a, b); }
  static Int to_int(Float x) { return _mm512_cvtps_epi32(x); }
  static Int to_small_int(Float x) { return to_int(x); }
  static Float to_float(Int x) { return _mm512_cvtepi32_ps(x); }
  static Float small_to_float(Int x) { return to_float(x); }
  static int32_t horizontal_sum_int(Int x) { return _mm512_reduce_add_epi32(x); }
  static Int load_int16(const void* p) {
    return _mm512_cvtepi16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
  }
  // 2^(e - 127) for the low byte e of each lane; 0 for e = 0.
  static Float power_of_two(Int exponents) {
    return _mm512_castsi512_ps(_mm512_srli_epi32(_mm512_slli_epi32(exponents, 24), 1));
  }
  static Int load_int8(const std::byte* p) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static void store_codes(int8_t* p, Int x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(x));
  }

  static Bytes load_bytes(const std::byte* p) { return _mm512_loadu_si512(p); }
  // Shifts left by Left bits (right if Left is negative), then keeps the bits of Mask in each byte.
  template <int Left, int Mask>
  static Bytes move_bits(Bytes x) {
    if constexpr (Left > 0) x = _mm512_slli_epi16(x, Left);
    if constexpr (Left < 0) x = _mm512_srli_epi16(x, -Left);
    return _mm512_and_si512(x, _mm512_set1_epi8(Mask));
  }
  // Returns table[i] for every byte i < 16.
  static Bytes look_up(const int8_t (&table)[16], Bytes i) {
    const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(entries), i);
  }
  static Bytes bit_or(Bytes a, Bytes b) { return _mm512_or_si512(a, b); }
  static Bytes bit_and(Bytes a, Bytes b) { return _mm512_and_si512(a, b); }
  static Bytes bit_xor(Bytes a, Bytes b) { return _mm512_xor_si512(a, b); }
  static Int shift_right(Int x, uint32_t bits) { return _mm512_srli_epi32(x, bits); }
  static Unsigned as_unsigned(Bytes x) { return x; }
  // One operand of the instruction is unsigned: this adds kSignedOffset.
  static Signed as_signed(Bytes x) {
    return _mm512_xor_si512(x, _mm512_set1_epi8(static_cast<char>(0x80)));
  }

  static __m512i splat_codes(const Codes& x) {
    int32_t four;
    std::memcpy(&four, x.codes, sizeof four);
    return _mm512_set1_epi32(four);
  }

  struct UnsignedDot {
    Int sums = _mm512_setzero_si512();
    void add(Unsigned w, const Codes& x) { sums = _mm512_dpbusd_epi32(sums, w, splat_codes(x)); }
    Int sum() const { return sums; }
  };
  using NibbleDot = UnsignedDot;
  using SignedDot = UnsignedDot;

  // --- Tables of sums, see vector/table_matmul.h ------------------------------------------------

  static Bytes load_row_bytes(const std::byte* p, size_t next) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(load_32_bytes(p)), load_32_bytes(p + next), 1);
  }
  static Bytes add_bytes(Bytes a, Bytes b) { return _mm512_add_epi8(a, b); }
  // 3 x / 256 for every byte x.
  static Bytes carries_of_3(Bytes x) {
    const __m512i one = _mm512_set1_epi8(1);
    const __m512i first = _mm512_subs_epu8(x, _mm512_set1_epi8(85));
    const __m512i second = _mm512_subs_epu8(x, _mm512_set1_epi8(static_cast<char>(170)));
    return add_bytes(_mm512_min_epu8(first, one), _mm512_min_epu8(second, one));
  }
  static void widen_bytes(Bytes x, Int (&words)[2]) {
    words[0] = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(x));
    words[1] = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(x, 1));
  }
  static Int add_words(Int a, Int b) { return _mm512_add_epi16(a, b); }
  template <unsigned Bits>
  static Int shift_words(Int x) {
    return _mm512_slli_epi16(x, Bits);
  }
  static void store_vector(int16_t* p, Int x) { _mm512_storeu_si512(p, x); }
  static void store_16_bytes(int8_t* p, const Int (&x)[1]) { store_codes(p, x[0]); }

  // --- Attention, see vector/attention.h ---------------------------------------------------------

  static constexpr size_t kPairVectors = 2;
  static constexpr size_t kQueryRows = 3;

  static Int shift_left(Int x, int bits) { return _mm512_sll_epi32(x, _mm_cvtsi32_si128(bits)); }
  static Int and_ints(Int a, Int b) { return _mm512_and_si512(a, b); }
  static Float as_floats(Int x) { return _mm512_castsi512_ps(x); }
  static Float splat_half(Half x) {
    return _mm512_cvtph_ps(_mm256_set1_epi16(static_cast<int16_t>(x.bits)));
  }
  static Int load_ints(const int16_t* p) { return _mm512_loadu_si512(p); }
  static __m128i load_16_bytes(const std::byte* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static __m256i load_32_bytes(const std::byte* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static Int dot_words(Int sums, Int a, Int b) { return _mm512_dpwssd_epi32(sums, a, b); }
  static Int load_words(const std::byte* p) { return _mm512_cvtepi8_epi16(load_32_bytes(p)); }
  static void load_nibble_words(const std::byte* p, Int* words) {
    const __m256i bytes = _mm256_cvtepu8_epi16(load_16_bytes(p));
    const __m256i even = _mm256_and_si256(bytes, _mm256_set1_epi16(0x0f));
    const __m512i both =
        _mm512_inserti64x4(_mm512_castsi256_si512(even), _mm256_srli_epi16(bytes, 4), 1);
    words[0] = _mm512_sub_epi16(both, _mm512_set1_epi16(8));
  }
  static void load_pairs(const std::byte* a, const std::byte* b, Int* pairs) {
    const __m256i low = _mm256_unpacklo_epi8(load_32_bytes(a), load_32_bytes(b));
    const __m256i high = _mm256_unpackhi_epi8(load_32_bytes(a), load_32_bytes(b));
    pairs[0] = _mm512_cvtepi8_epi16(_mm256_permute2x128_si256(low, high, 0x20));
    pairs[1] = _mm512_cvtepi8_epi16(_mm256_permute2x128_si256(low, high, 0x31));
  }
  static void load_nibble_pairs(const std::byte* a, const std::byte* b, Int* pairs) {
    const __m256i eight = _mm256_set1_epi8(8);
    const __m256i nibble = _mm256_set1_epi8(0x0f);
    const __m128i x = load_16_bytes(a);
    const __m128i y = load_16_bytes(b);
    const __m256i bytes = _mm256_set_m128i(_mm_unpackhi_epi8(x, y), _mm_unpacklo_epi8(x, y));
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble);
    pairs[0] = _mm512_cvtepi8_epi16(_mm256_sub_epi8(_mm256_and_si256(bytes, nibble), eight));
    pairs[1] = _mm512_cvtepi8_epi16(_mm256_sub_epi8(odd, eight));
  }
  static void interleave(Float even, Float odd, Float* out) {
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    out[0] = _mm512_permutex2var_ps(even, low, odd);
    out[1] = _mm512_permutex2var_ps(even, _mm512_add_epi32(low, _mm512_set1_epi32(8)), odd);
  }
  static __m128 fold(Float x) {
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  }
  static void store_sums(const Float* x, float* p) {
    _mm_storeu_ps(
        p, _mm_hadd_ps(_mm_hadd_ps(fold(x[0]), fold(x[1])), _mm_hadd_ps(fold(x[2]), fold(x[3]))));
  }
  struct HalfLength : Avx2Vector {
    static Int dot_words(Int sums, Int a, Int b) { return _mm256_dpwssd_epi32(sums, a, b); }
  };
  static Float whole(Float x) { return x; }
  static Float whole(HalfLength::Float x) { return _mm512_zextps256_ps512(x); }
  // Transposes squares of 2 by 2 numbers, then of 4 by 4, of 8 by 8, and all.
  static void transpose(Float* x) {
    Float y[kLanes];
    for (size_t i = 0; i < kLanes; i += 2) {
      y[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
      y[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
    }
    const auto pair = [](Float a, Float b, bool high) {
      const __m512d u = _mm512_castps_pd(a);
      const __m512d v = _mm512_castps_pd(b);
      return _mm512_castpd_ps(high ? _mm512_unpackhi_pd(u, v) : _mm512_unpacklo_pd(u, v));
    };
    for (size_t i = 0; i < kLanes; i += 4) {
      for (size_t j = 0; j < 4; ++j) x[i + j] = pair(y[i + j / 2], y[i + 2 + j / 2], j % 2 != 0);
    }
    for (size_t i = 0; i < kLanes; i += 8) {
      for (size_t j = 0; j < 4; ++j) {
        y[i + j] = _mm512_shuffle_f32x4(x[i + j], x[i + 4 + j], 0b10001000);
        y[i + 4 + j] = _mm512_shuffle_f32x4(x[i + j], x[i + 4 + j], 0b11011101);
      }
    }
    for (size_t j = 0; j < 8; ++j) {
      x[j] = _mm512_shuffle_f32x4(y[j], y[8 + j], 0b10001000);
      x[8 + j] = _mm512_shuffle_f32x4(y[j], y[8 + j], 0b11011101);
    }
  }
  static void store_words(int16_t* p, Int x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(x));
  }
};

}  // namespace

const KernelSet& avx512_vnni_kernels() {
  static const KernelSet kernels = VectorKernels<Avx512Vnni>::kernel_set("avx512-vnni");
  return kernels;
}

}  // namespace kinglet
