// The common part of the two 256-bit instruction sets: vectors of 8 rows.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.h"
#include "kernels/vector/interleaved_tile.h"

namespace kinglet {
namespace {

struct Avx2Vector {
  using Float = __m256;
  using Int = __m256i;
  struct Codes {
    int8_t codes[4];
  };
  using Bytes = __m256i;
  using Unsigned = __m256i;
  static constexpr size_t kLanes = 8;
  static constexpr TileTokens kTokens{
      .q4_0 = 4, .q5_0 = 4, .q8_0 = 4, .q4_k = 4, .q6_k = 4, .pairs = 4, .floats = 3};
  static constexpr size_t kNibbleSteps = 8;
  static constexpr size_t kCopies = 1;
  static constexpr bool kSumsSevenBits = true;
  static constexpr bool kRollSteps = false;
  static constexpr bool kRollNibbles = false;

  static Float load(const float* p) { return _mm256_loadu_ps(p); }
  static Float load_half(const void* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(p)));
  }
  static Float load_twice(const float* p) {
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)),
                                    _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
  }
  static Float swap_neighbours(Float x) { return _mm256_permute_ps(x, 0b10110001); }
  static void store(float* p, Float x) { _mm256_storeu_ps(p, x); }
  static Float splat(float x) { return _mm256_set1_ps(x); }
  static Float add(Float a, Float b) { return _mm256_add_ps(a, b); }
  static Float sub_float(Float a, Float b) { return _mm256_sub_ps(a, b); }
  static Float mul(Float a, Float b) { return _mm256_mul_ps(a, b); }
  static Float div(Float a, Float b) { return _mm256_div_ps(a, b); }
  static Float fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
  // If an operand is NaN, the instructions return the second one.
  static Float min(Float a, Float b) { return _mm256_min_ps(b, a); }
  static Float max(Float a, Float b) { return _mm256_max_ps(b, a); }
  static Float abs(Float x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }
  static float horizontal_sum(Float x) {
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
  }
  static float horizontal_max(Float x) {
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
  }
  static Int as_ints(Float x) { return _mm256_castps_si256(x); }
  static Int max_int(Int a, Int b) { return _mm256_max_epi32(a, b); }
  static int32_t horizontal_max_int(Int x) {
    __m128i half = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0b01001110));
    return _mm_cvtsi128_si32(_mm_max_epi32(half, _mm_shuffle_epi32(half, 0b10110001)));
  }
  static Float add_exponent(Float p, Float shifted) {
    const Int power = _mm256_slli_epi32(_mm256_castps_si256(shifted), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), power));
  }

  static Float broadcast(const float (&x)[kCopies]) { return splat(x[0]); }
  static Int broadcast_int(const int32_t (&x)[kCopies]) { return splat_int(x[0]); }
  static Int splat_int(int32_t x) { return _mm256_set1_epi32(x); }
  static Int add_int(Int a, Int b) { return _mm256_add_epi32(a, b); }
  static Int sub(Int a, Int b) { return _mm256_sub_epi32(a, b); }
  static Int mul_int(Int a, Int b) { return _mm256_mullo_epi32(a, b); }
  static Int to_int(Float x) { return _mm256_cvtps_epi32(x); }
  static Int to_small_int(Float x) { return to_int(x); }
  static Float to_float(Int x) { return _mm256_cvtepi32_ps(x); }
  static Float small_to_float(Int x) { return to_float(x); }
  static int32_t horizontal_sum_int(Int x) {
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0b01001110));
    return _mm_cvtsi128_si32(_mm_add_epi32(half, _mm_shuffle_epi32(half, 0b10110001)));
  }
  static Int load_int16(const void* p) {
    return _mm256_cvtepi16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
  }
  // 2^(e - 127) for the low byte e of each lane; 0 for e = 0.
  static Float power_of_two(Int exponents) {
    return _mm256_castsi256_ps(_mm256_srli_epi32(_mm256_slli_epi32(exponents, 24), 1));
  }
  static Int load_int8(const std::byte* p) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  static void store_codes(int8_t* p, Int x) {
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(words, words));
  }

  static Bytes load_bytes(const std::byte* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  // Shifts left by Left bits (right if Left is negative), then keeps the bits of Mask in each byte.
  template <int Left, int Mask>
  static Bytes move_bits(Bytes x) {
    if constexpr (Left > 0) x = _mm256_slli_epi16(x, Left);
    if constexpr (Left < 0) x = _mm256_srli_epi16(x, -Left);
    return _mm256_and_si256(x, _mm256_set1_epi8(Mask));
  }
  // Returns table[i] for every byte i < 16.
  static Bytes look_up(const int8_t (&table)[16], Bytes i) {
    const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(entries), i);
  }
  static Bytes bit_or(Bytes a, Bytes b) { return _mm256_or_si256(a, b); }
  static Bytes bit_and(Bytes a, Bytes b) { return _mm256_and_si256(a, b); }
  static Bytes bit_xor(Bytes a, Bytes b) { return _mm256_xor_si256(a, b); }
  static Int shift_right(Int x, uint32_t bits) {
    return _mm256_srli_epi32(x, static_cast<int>(bits));
  }
  static Unsigned as_unsigned(Bytes x) { return x; }

  static __m256i splat_codes(const Codes& x) {
    int32_t four;
    std::memcpy(&four, x.codes, sizeof four);
    return _mm256_set1_epi32(four);
  }

  // --- Tables of sums, see vector/table_matmul.h ------------------------------------------------

  static Bytes load_row_bytes(const std::byte* p, size_t /*next*/) { return load_bytes(p); }
  static Bytes add_bytes(Bytes a, Bytes b) { return _mm256_add_epi8(a, b); }
  // 3 x / 256 for every byte x.
  static Bytes carries_of_3(Bytes x) {
    const __m256i one = _mm256_set1_epi8(1);
    const __m256i first = _mm256_subs_epu8(x, _mm256_set1_epi8(85));
    const __m256i second = _mm256_subs_epu8(x, _mm256_set1_epi8(static_cast<char>(170)));
    return add_bytes(_mm256_min_epu8(first, one), _mm256_min_epu8(second, one));
  }
  static void widen_bytes(Bytes x, Int (&words)[2]) {
    words[0] = _mm256_cvtepu8_epi16(_mm256_castsi256_si128(x));
    words[1] = _mm256_cvtepu8_epi16(_mm256_extracti128_si256(x, 1));
  }
  static Int add_words(Int a, Int b) { return _mm256_add_epi16(a, b); }
  template <int Bits>
  static Int shift_words(Int x) {
    return _mm256_slli_epi16(x, Bits);
  }
  static void store_vector(int16_t* p, Int x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x);
  }
  static void store_16_bytes(int8_t* p, const Int (&x)[2]) {
    store_codes(p, x[0]);
    store_codes(p + kLanes, x[1]);
  }

  // --- Attention, see vector/attention.h ---------------------------------------------------------

  static constexpr size_t kPairVectors = 4;
  static constexpr size_t kQueryRows = 3;

  static Int shift_left(Int x, int bits) { return _mm256_sll_epi32(x, _mm_cvtsi32_si128(bits)); }
  static Int and_ints(Int a, Int b) { return _mm256_and_si256(a, b); }
  static Float as_floats(Int x) { return _mm256_castsi256_ps(x); }
  static Float splat_half(Half x) {
    return _mm256_cvtph_ps(_mm_set1_epi16(static_cast<int16_t>(x.bits)));
  }
  static Int load_ints(const int16_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static __m128i load_half_vector(const std::byte* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static Int dot_words(Int sums, Int a, Int b) { return add_int(sums, _mm256_madd_epi16(a, b)); }
  static Int load_words(const std::byte* p) { return _mm256_cvtepi8_epi16(load_half_vector(p)); }
  static void load_nibble_words(const std::byte* p, Int* words) {
    const __m256i eight = _mm256_set1_epi16(8);
    const __m256i bytes = _mm256_cvtepu8_epi16(load_half_vector(p));
    words[0] = _mm256_sub_epi16(_mm256_and_si256(bytes, _mm256_set1_epi16(0x0f)), eight);
    words[1] = _mm256_sub_epi16(_mm256_srli_epi16(bytes, 4), eight);
  }
  static Int widen_low(Bytes x) { return _mm256_cvtepi8_epi16(_mm256_castsi256_si128(x)); }
  static Int widen_high(Bytes x) { return _mm256_cvtepi8_epi16(_mm256_extracti128_si256(x, 1)); }
  static void load_pairs(const std::byte* a, const std::byte* b, Int* pairs) {
    const __m256i low = _mm256_unpacklo_epi8(load_bytes(a), load_bytes(b));
    const __m256i high = _mm256_unpackhi_epi8(load_bytes(a), load_bytes(b));
    pairs[0] = widen_low(low);
    pairs[1] = widen_low(high);
    pairs[2] = widen_high(low);
    pairs[3] = widen_high(high);
  }
  static void load_nibble_pairs(const std::byte* a, const std::byte* b, Int* pairs) {
    const __m256i eight = _mm256_set1_epi8(8);
    const __m128i x = load_half_vector(a);
    const __m128i y = load_half_vector(b);
    const __m256i bytes = _mm256_set_m128i(_mm_unpackhi_epi8(x, y), _mm_unpacklo_epi8(x, y));
    const __m256i even = _mm256_sub_epi8(move_bits<0, 0x0f>(bytes), eight);
    const __m256i odd = _mm256_sub_epi8(move_bits<-4, 0x0f>(bytes), eight);
    pairs[0] = widen_low(even);
    pairs[1] = widen_high(even);
    pairs[2] = widen_low(odd);
    pairs[3] = widen_high(odd);
  }
  static void interleave(Float even, Float odd, Float* out) {
    const __m256 low = _mm256_unpacklo_ps(even, odd);
    const __m256 high = _mm256_unpackhi_ps(even, odd);
    out[0] = _mm256_permute2f128_ps(low, high, 0x20);
    out[1] = _mm256_permute2f128_ps(low, high, 0x31);
  }
  static __m128 fold(Float x) {
    return _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  }
  static void store_sums(const Float* x, float* p) {
    _mm_storeu_ps(
        p, _mm_hadd_ps(_mm_hadd_ps(fold(x[0]), fold(x[1])), _mm_hadd_ps(fold(x[2]), fold(x[3]))));
  }
  static void store_words(int16_t* p, Int x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                     _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1)));
  }
};

}  // namespace
}  // namespace kinglet
