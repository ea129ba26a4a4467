// The common part of the two wasm instruction sets: 128-bit vectors of 4 rows.
#pragma once

#include <wasm_simd128.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/exponential.h"
#include "base/half.h"
#include "kernels/vector/interleaved_tile.h"

namespace kinglet {
namespace {

struct WasmVector {
  using Float = v128_t;
  using Int = v128_t;
  using Bytes = v128_t;
  static constexpr size_t kLanes = 4;
  static constexpr size_t kNibbleSteps = 4;  // two sums: each product waits for the one before
  // On x86, browsers have 15 registers for the sums of a tile and all that a step reads. Sums that
  // do not fit are stored and loaded again in each step, which took twice as long.
  static constexpr TileTokens kTokens{
      .q4_0 = 8, .q5_0 = 8, .q8_0 = 4, .q4_k = 4, .q6_k = 4, .floats = 2, .codebooks = 0};
  static constexpr bool kRollNibbles = false;
  static constexpr bool kRollSteps = true;  // unrolled, tiles of bytes do not fit either
  static constexpr bool kSumsSevenBits = true;
  static constexpr int32_t kSignedOffset = 0;

  static Float load(const float* p) { return wasm_v128_load(p); }
  // See to_float(Half) in base/half.h; infinities and NaN become large numbers.
  static Float load_half(const void* p) { return half_bits_to_float(load_int16(p)); }
  static Float splat_half(Half x) {
    return half_bits_to_float(wasm_i32x4_splat(static_cast<int16_t>(x.bits)));
  }
  static Float half_bits_to_float(Int bits) {
    const v128_t moved =
        wasm_v128_and(wasm_i32x4_shl(bits, 13), wasm_i32x4_const_splat(-0x70002000));
    return wasm_f32x4_mul(moved, wasm_f32x4_const_splat(0x1p112f));
  }
  static Float load_twice(const float* p) {
    const v128_t x = wasm_v128_load64_zero(p);
    return wasm_i32x4_shuffle(x, x, 0, 0, 1, 1);
  }
  static Float swap_neighbours(Float x) { return wasm_i32x4_shuffle(x, x, 1, 0, 3, 2); }
  static void store(float* p, Float x) { wasm_v128_store(p, x); }
  static Float splat(float x) { return wasm_f32x4_splat(x); }
  static Float add(Float a, Float b) { return wasm_f32x4_add(a, b); }
  static Float sub_float(Float a, Float b) { return wasm_f32x4_sub(a, b); }
  static Float mul(Float a, Float b) { return wasm_f32x4_mul(a, b); }
  static Float div(Float a, Float b) { return wasm_f32x4_div(a, b); }
  static Float min(Float a, Float b) { return wasm_f32x4_pmin(a, b); }
  static Float max(Float a, Float b) { return wasm_f32x4_pmax(a, b); }
  static Float abs(Float x) { return wasm_f32x4_abs(x); }
  static float horizontal_sum(Float x) {
    x = add(x, wasm_i32x4_shuffle(x, x, 2, 3, 0, 1));
    return wasm_f32x4_extract_lane(add(x, wasm_i32x4_shuffle(x, x, 1, 0, 3, 2)), 0);
  }
  static float horizontal_max(Float x) {
    x = max(x, wasm_i32x4_shuffle(x, x, 2, 3, 0, 1));
    return wasm_f32x4_extract_lane(max(x, wasm_i32x4_shuffle(x, x, 1, 0, 3, 2)), 0);
  }
  static Int as_ints(Float x) { return x; }
  static Int max_int(Int a, Int b) { return wasm_i32x4_max(a, b); }
  static int32_t horizontal_max_int(Int x) {
    x = max_int(x, wasm_i32x4_shuffle(x, x, 2, 3, 0, 1));
    return wasm_i32x4_extract_lane(max_int(x, wasm_i32x4_shuffle(x, x, 1, 0, 3, 2)), 0);
  }
  static Float add_exponent(Float p, Float shifted) {
    return wasm_i32x4_add(p, wasm_i32x4_shl(shifted, 23));
  }

  static Int splat_int(int32_t x) { return wasm_i32x4_splat(x); }
  static Int add_int(Int a, Int b) { return wasm_i32x4_add(a, b); }
  static Int sub(Int a, Int b) { return wasm_i32x4_sub(a, b); }
  static Int mul_int(Int a, Int b) { return wasm_i32x4_mul(a, b); }
  static Int to_int(Float x) { return wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_nearest(x)); }
  // Rounds as exponential::kRound tells. to_int() takes a dozen instructions, because wasm defines
  // its results for larger numbers, too.
  static Int to_small_int(Float x) {
    const v128_t round = wasm_f32x4_const_splat(exponential::kRound);
    return wasm_i32x4_sub(wasm_f32x4_add(x, round), round);
  }
  static Float to_float(Int x) { return wasm_f32x4_convert_i32x4(x); }
  // Where the compiler finds that x is not negative, to_float() would become a conversion of
  // unsigned numbers, for which browsers need eight instructions. Here, x is the fraction of a
  // float 2^23 + x.
  static Float small_to_float(Int x) {
    const v128_t offset = wasm_f32x4_const_splat(0x1p23f);
    return wasm_f32x4_sub(wasm_v128_or(x, offset), offset);
  }
  static int32_t horizontal_sum_int(Int x) {
    x = wasm_i32x4_add(x, wasm_i32x4_shuffle(x, x, 2, 3, 0, 1));
    return wasm_i32x4_extract_lane(wasm_i32x4_add(x, wasm_i32x4_shuffle(x, x, 1, 0, 3, 2)), 0);
  }
  static Int load_int16(const void* p) { return wasm_i32x4_load16x4(p); }
  // 2^(e - 127) for the low byte e of each lane; 0 for e = 0.
  static Float power_of_two(Int exponents) {
    return wasm_u32x4_shr(wasm_i32x4_shl(exponents, 24), 1);
  }
  static Int load_int8(const std::byte* p) {
    return wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(p)));
  }

  static Bytes load_bytes(const std::byte* p) { return wasm_v128_load(p); }
  // Shifts left by Left bits (right if Left is negative), then keeps the bits of Mask in each byte.
  // Byte shifts take several instructions on most machines; 16-bit shifts and a mask take two.
  template <int Left, int Mask>
  static Bytes move_bits(Bytes x) {
    if constexpr (Left > 0) x = wasm_i16x8_shl(x, Left);
    if constexpr (Left < 0) x = wasm_u16x8_shr(x, -Left);
    return wasm_v128_and(x, wasm_i8x16_const_splat(Mask));
  }
  static Bytes look_up(const int8_t (&table)[16], Bytes i) {
    return wasm_i8x16_swizzle(wasm_v128_load(table), i);
  }
  static Bytes bit_or(Bytes a, Bytes b) { return wasm_v128_or(a, b); }
  static Bytes bit_and(Bytes a, Bytes b) { return wasm_v128_and(a, b); }
  static Bytes bit_xor(Bytes a, Bytes b) { return wasm_v128_xor(a, b); }
  static Int shift_right(Int x, uint32_t bits) { return wasm_u32x4_shr(x, bits); }

  // --- Tables of sums, see vector/table_matmul.h ------------------------------------------------

  static Bytes load_row_bytes(const std::byte* p, size_t /*next*/) { return wasm_v128_load(p); }
  static Bytes add_bytes(Bytes a, Bytes b) { return wasm_i8x16_add(a, b); }
  // 3 x / 256 for every byte x.
  static Bytes carries_of_3(Bytes x) {
    const v128_t one = wasm_i8x16_const_splat(1);
    return add_bytes(wasm_u8x16_min(wasm_u8x16_sub_sat(x, wasm_i8x16_const_splat(85)), one),
                     wasm_u8x16_min(wasm_u8x16_sub_sat(x, wasm_u8x16_const_splat(170)), one));
  }
  static void widen_bytes(Bytes x, Int (&words)[2]) {
    words[0] = wasm_u16x8_extend_low_u8x16(x);
    words[1] = wasm_u16x8_extend_high_u8x16(x);
  }
  static Int add_words(Int a, Int b) { return wasm_i16x8_add(a, b); }
  template <uint32_t Bits>
  static Int shift_words(Int x) {
    return wasm_i16x8_shl(x, Bits);
  }
  static void store_vector(int16_t* p, Int x) { wasm_v128_store(p, x); }
  static void store_16_bytes(int8_t* p, const Int (&x)[4]) {
    wasm_v128_store(p, wasm_i8x16_narrow_i16x8(wasm_i16x8_narrow_i32x4(x[0], x[1]),
                                               wasm_i16x8_narrow_i32x4(x[2], x[3])));
  }

  // --- Attention, see vector/attention.h ---------------------------------------------------------

  static constexpr size_t kPairVectors = 4;
  static constexpr size_t kQueryRows = 2;

  static Int shift_left(Int x, int bits) { return wasm_i32x4_shl(x, static_cast<uint32_t>(bits)); }
  static Int and_ints(Int a, Int b) { return wasm_v128_and(a, b); }
  static Float as_floats(Int x) { return x; }
  static Int load_ints(const int16_t* p) { return wasm_v128_load(p); }
  static Int dot_words(Int sums, Int a, Int b) { return add_int(sums, wasm_i32x4_dot_i16x8(a, b)); }
  static Int load_words(const std::byte* p) { return wasm_i16x8_load8x8(p); }
  static void load_nibble_words(const std::byte* p, Int* words) {
    const v128_t eight = wasm_i16x8_const_splat(8);
    for (int half = 0; half < 2; ++half) {
      const v128_t bytes = wasm_u16x8_load8x8(p + 8 * half);
      words[half] = wasm_i16x8_sub(wasm_v128_and(bytes, wasm_i16x8_const_splat(0x0f)), eight);
      words[2 + half] = wasm_i16x8_sub(wasm_u16x8_shr(bytes, 4), eight);
    }
  }
  static void widen_pairs(Bytes bytes, Int* pairs) {
    pairs[0] = wasm_i16x8_extend_low_i8x16(bytes);
    pairs[1] = wasm_i16x8_extend_high_i8x16(bytes);
  }
  static void load_pairs(const std::byte* a, const std::byte* b, Int* pairs) {
    for (size_t half = 0; half < 2; ++half) {
      const v128_t x = wasm_i16x8_load8x8(a + 8 * half);
      const v128_t y = wasm_i16x8_load8x8(b + 8 * half);
      pairs[2 * half] = wasm_i16x8_shuffle(x, y, 0, 8, 1, 9, 2, 10, 3, 11);
      pairs[2 * half + 1] = wasm_i16x8_shuffle(x, y, 4, 12, 5, 13, 6, 14, 7, 15);
    }
  }
  static void load_nibble_pairs(const std::byte* a, const std::byte* b, Int* pairs) {
    const v128_t eight = wasm_i8x16_const_splat(8);
    const v128_t bytes = wasm_i8x16_shuffle(wasm_v128_load64_zero(a), wasm_v128_load64_zero(b), 0,
                                            16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    widen_pairs(wasm_i8x16_sub(move_bits<0, 0x0f>(bytes), eight), pairs);
    widen_pairs(wasm_i8x16_sub(move_bits<-4, 0x0f>(bytes), eight), pairs + 2);
  }
  static void interleave(Float even, Float odd, Float* out) {
    out[0] = wasm_i32x4_shuffle(even, odd, 0, 4, 1, 5);
    out[1] = wasm_i32x4_shuffle(even, odd, 2, 6, 3, 7);
  }
  // Adds lanes in the same order as horizontal_sum().
  static void store_sums(const Float* x, float* p) {
    const v128_t ab =
        add(wasm_i32x4_shuffle(x[0], x[1], 0, 4, 1, 5), wasm_i32x4_shuffle(x[0], x[1], 2, 6, 3, 7));
    const v128_t cd =
        add(wasm_i32x4_shuffle(x[2], x[3], 0, 4, 1, 5), wasm_i32x4_shuffle(x[2], x[3], 2, 6, 3, 7));
    store(p, add(wasm_i32x4_shuffle(ab, cd, 0, 1, 4, 5), wasm_i32x4_shuffle(ab, cd, 2, 3, 6, 7)));
  }
  static void store_words(int16_t* p, Int x) {
    wasm_v128_store64_lane(p, wasm_i16x8_narrow_i32x4(x, x), 0);
  }

  // --- Panels of weights, see vector/panel_matmul.h ---------------------------------------------

  static Int splat_lane(const Int* x, size_t lane) {
    return wasm_v128_load32_splat(reinterpret_cast<const char*>(x) + 4 * lane);
  }
};

// Unpacks codes to 16-bit words in the order of panels.
struct WasmWords : WasmVector {
  struct Words {
    Int pairs[2];  // the first two columns of every row, and the last two
  };
  using Unsigned = Words;
  using Signed = Words;
  // Panels have a dot product of their own.
  using NibbleDot = void;
  using UnsignedDot = void;
  using SignedDot = void;

  static Unsigned as_unsigned(Bytes x) {
    Int rows[2];
    widen_bytes(x, rows);
    return in_pairs(rows);
  }
  static Signed as_signed(Bytes x) {
    Int rows[2];
    widen_pairs(x, rows);
    return in_pairs(rows);
  }
  static Words in_pairs(const Int (&rows)[2]) {
    return {{wasm_i32x4_shuffle(rows[0], rows[1], 0, 2, 4, 6),
             wasm_i32x4_shuffle(rows[0], rows[1], 1, 3, 5, 7)}};
  }
  static Int splat_word(int16_t x) { return wasm_i16x8_splat(x); }
  static Int sub_words(Int a, Int b) { return wasm_i16x8_sub(a, b); }
  static Int mul_words(Int a, Int b) { return wasm_i16x8_mul(a, b); }
  // Copies the low word of each 32-bit lane to its high word.
  static Int twice(Int x) {
    return wasm_v128_or(wasm_v128_and(x, wasm_i32x4_const_splat(0xffff)), wasm_i32x4_shl(x, 16));
  }
};

}  // namespace
}  // namespace kinglet
