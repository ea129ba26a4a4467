// The common part of the 64-bit ARM instruction sets: 128-bit vectors of 4 rows.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.h"

namespace kinglet {
namespace {

struct NeonVector {
  using Float = float32x4_t;
  using Int = int32x4_t;
  using Bytes = int32x4_t;
  static constexpr size_t kLanes = 4;
  static constexpr size_t kNibbleSteps = 8;
  static constexpr size_t kCopies = 1;
  static constexpr bool kRollSteps = false;
  static constexpr bool kRollNibbles = false;
  static constexpr int32_t kSignedOffset = 0;

  // Conversions between the types that instructions expect; the bits stay the same.
  static uint8x16_t u8(Int x) { return vreinterpretq_u8_s32(x); }
  static int8x16_t s8(Int x) { return vreinterpretq_s8_s32(x); }
  static int16x8_t s16(Int x) { return vreinterpretq_s16_s32(x); }
  static uint32x4_t u32(Int x) { return vreinterpretq_u32_s32(x); }
  static Int of(uint8x16_t x) { return vreinterpretq_s32_u8(x); }
  static Int of(int16x8_t x) { return vreinterpretq_s32_s16(x); }
  static Int of(uint32x4_t x) { return vreinterpretq_s32_u32(x); }

  static Float load(const float* p) { return vld1q_f32(p); }
  static Float load_half(const void* p) {
    return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(static_cast<const uint8_t*>(p))));
  }
  static Float splat_half(Half x) { return vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(x.bits))); }
  static Float load_twice(const float* p) {
    const Float x = vcombine_f32(vld1_f32(p), vdup_n_f32(0.0f));
    return vzip1q_f32(x, x);
  }
  static Float swap_neighbours(Float x) { return vrev64q_f32(x); }
  static void store(float* p, Float x) { vst1q_f32(p, x); }
  static Float splat(float x) { return vdupq_n_f32(x); }
  static Float add(Float a, Float b) { return vaddq_f32(a, b); }
  static Float sub_float(Float a, Float b) { return vsubq_f32(a, b); }
  static Float mul(Float a, Float b) { return vmulq_f32(a, b); }
  static Float div(Float a, Float b) { return vdivq_f32(a, b); }
  static Float fma(Float a, Float b, Float c) { return vfmaq_f32(c, a, b); }
  // Not vminq_f32 and vmaxq_f32: these return NaN if either operand is NaN.
  static Float min(Float a, Float b) { return vbslq_f32(vcltq_f32(b, a), b, a); }
  static Float max(Float a, Float b) { return vbslq_f32(vcltq_f32(a, b), b, a); }
  static Float abs(Float x) { return vabsq_f32(x); }
  static float horizontal_sum(Float x) { return vaddvq_f32(x); }
  static float horizontal_max(Float x) { return vmaxvq_f32(x); }
  static Int as_ints(Float x) { return vreinterpretq_s32_f32(x); }
  static Int max_int(Int a, Int b) { return vmaxq_s32(a, b); }
  static int32_t horizontal_max_int(Int x) { return vmaxvq_s32(x); }
  static Float add_exponent(Float p, Float shifted) {
    return as_floats(vaddq_s32(as_ints(p), vshlq_n_s32(as_ints(shifted), 23)));
  }

  static Float broadcast(const float (&x)[kCopies]) { return splat(x[0]); }
  static Int broadcast_int(const int32_t (&x)[kCopies]) { return splat_int(x[0]); }
  static Int splat_int(int32_t x) { return vdupq_n_s32(x); }
  static Int add_int(Int a, Int b) { return vaddq_s32(a, b); }
  static Int sub(Int a, Int b) { return vsubq_s32(a, b); }
  static Int mul_int(Int a, Int b) { return vmulq_s32(a, b); }
  static Int to_int(Float x) { return vcvtnq_s32_f32(x); }
  static Int to_small_int(Float x) { return to_int(x); }
  static Float to_float(Int x) { return vcvtq_f32_s32(x); }
  static Float small_to_float(Int x) { return to_float(x); }
  static int32_t horizontal_sum_int(Int x) { return vaddvq_s32(x); }
  static Int load_int16(const void* p) {
    return vmovl_s16(vreinterpret_s16_u8(vld1_u8(static_cast<const uint8_t*>(p))));
  }
  // 2^(e - 127) for the low byte e of each lane; 0 for e = 0.
  static Float power_of_two(Int exponents) {
    return as_floats(of(vshrq_n_u32(u32(vshlq_n_s32(exponents, 24)), 1)));
  }
  static Int load_int8(const std::byte* p) {
    uint32_t four;
    std::memcpy(&four, p, sizeof four);
    return vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(four))));
  }
  static int8x8_t narrow(Int x) {
    const int16x4_t words = vmovn_s32(x);
    return vmovn_s16(vcombine_s16(words, words));
  }

  static Bytes load_bytes(const std::byte* p) {
    return of(vld1q_u8(reinterpret_cast<const uint8_t*>(p)));
  }
  // Shifts each byte left by Left bits (right if Left is negative), then keeps the bits of Mask.
  // The mask is skipped if the shift alone leaves only these bits.
  template <int Left, int Mask>
  static Bytes move_bits(Bytes x) {
    constexpr int kLeft = Left > 0 ? 0xff << Left & 0xff : 0xff >> -Left;
    uint8x16_t bytes = u8(x);
    if constexpr (Left > 0) bytes = vshlq_n_u8(bytes, Left);
    if constexpr (Left < 0) bytes = vshrq_n_u8(bytes, -Left);
    if constexpr (Mask != kLeft) bytes = vandq_u8(bytes, vdupq_n_u8(Mask));
    return of(bytes);
  }
  // Returns table[i] for every byte i < 16.
  static Bytes look_up(const int8_t (&table)[16], Bytes i) {
    return of(vqtbl1q_u8(vreinterpretq_u8_s8(vld1q_s8(table)), u8(i)));
  }
  static Bytes bit_or(Bytes a, Bytes b) { return vorrq_s32(a, b); }
  static Bytes bit_and(Bytes a, Bytes b) { return vandq_s32(a, b); }
  static Bytes bit_xor(Bytes a, Bytes b) { return veorq_s32(a, b); }
  static Int shift_right(Int x, uint32_t bits) { return of(u32(x) >> bits); }

  using Unsigned = Bytes;
  using Signed = Bytes;
  static Unsigned as_unsigned(Bytes x) { return x; }
  static Signed as_signed(Bytes x) { return x; }

  // --- Tables of sums, see vector/table_matmul.h ------------------------------------------------

  static Bytes load_row_bytes(const std::byte* p, size_t /*next*/) { return load_bytes(p); }
  static Bytes add_bytes(Bytes a, Bytes b) { return of(vaddq_u8(u8(a), u8(b))); }
  // 3 x / 256 for every byte x: (x + x / 2) / 2 / 64.
  static Bytes carries_of_3(Bytes x) {
    return of(vshrq_n_u8(vhaddq_u8(u8(x), vshrq_n_u8(u8(x), 1)), 6));
  }
  static void widen_bytes(Bytes x, Int (&words)[2]) {
    words[0] = of(vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(u8(x)))));
    words[1] = of(vreinterpretq_s16_u16(vmovl_high_u8(u8(x))));
  }
  static Int add_words(Int a, Int b) { return of(vaddq_s16(s16(a), s16(b))); }
  template <int Bits>
  static Int shift_words(Int x) {
    return of(vshlq_n_s16(s16(x), Bits));
  }
  static void store_vector(int16_t* p, Int x) { vst1q_s16(p, s16(x)); }
  static void store_16_bytes(int8_t* p, const Int (&x)[4]) {
    const int16x8_t low = vcombine_s16(vmovn_s32(x[0]), vmovn_s32(x[1]));
    const int16x8_t high = vcombine_s16(vmovn_s32(x[2]), vmovn_s32(x[3]));
    vst1q_s8(p, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
  }

  // --- Attention, see vector/attention.h ---------------------------------------------------------

  static constexpr size_t kPairVectors = 4;
  static constexpr size_t kQueryRows = 3;

  static Int shift_left(Int x, int bits) { return of(u32(x) << static_cast<uint32_t>(bits)); }
  static Int and_ints(Int a, Int b) { return vandq_s32(a, b); }
  static Float as_floats(Int x) { return vreinterpretq_f32_s32(x); }
  static Int load_ints(const int16_t* p) { return of(vld1q_s16(p)); }
  static Int dot_words(Int sums, Int a, Int b) {
    const Int low = vmull_s16(vget_low_s16(s16(a)), vget_low_s16(s16(b)));
    return add_int(sums, vpaddq_s32(low, vmull_high_s16(s16(a), s16(b))));
  }
  static int8x8_t load_8_bytes(const std::byte* p) {
    return vld1_s8(reinterpret_cast<const int8_t*>(p));
  }
  static Int load_words(const std::byte* p) { return of(vmovl_s8(load_8_bytes(p))); }
  static void widen_pairs(int8x16_t bytes, Int* pairs) {
    pairs[0] = of(vmovl_s8(vget_low_s8(bytes)));
    pairs[1] = of(vmovl_high_s8(bytes));
  }
  // Return the low or the high halves of bytes, minus 8.
  static int8x16_t low_nibbles(Bytes x) {
    return vsubq_s8(s8(move_bits<0, 0x0f>(x)), vdupq_n_s8(8));
  }
  static int8x16_t high_nibbles(Bytes x) {
    return vsubq_s8(s8(move_bits<-4, 0x0f>(x)), vdupq_n_s8(8));
  }
  static void load_nibble_words(const std::byte* p, Int* words) {
    widen_pairs(low_nibbles(load_bytes(p)), words);
    widen_pairs(high_nibbles(load_bytes(p)), words + 2);
  }
  static void load_pairs(const std::byte* a, const std::byte* b, Int* pairs) {
    widen_pairs(vzip1q_s8(s8(load_bytes(a)), s8(load_bytes(b))), pairs);
    widen_pairs(vzip2q_s8(s8(load_bytes(a)), s8(load_bytes(b))), pairs + 2);
  }
  static void load_nibble_pairs(const std::byte* a, const std::byte* b, Int* pairs) {
    const int8x8x2_t both = vzip_s8(load_8_bytes(a), load_8_bytes(b));
    const Bytes bytes = vreinterpretq_s32_s8(vcombine_s8(both.val[0], both.val[1]));
    widen_pairs(low_nibbles(bytes), pairs);
    widen_pairs(high_nibbles(bytes), pairs + 2);
  }
  static void interleave(Float even, Float odd, Float* out) {
    out[0] = vzip1q_f32(even, odd);
    out[1] = vzip2q_f32(even, odd);
  }
  // Adds lanes in the same order as horizontal_sum().
  static void store_sums(const Float* x, float* p) {
    store(p, vpaddq_f32(vpaddq_f32(x[0], x[1]), vpaddq_f32(x[2], x[3])));
  }
  static void store_words(int16_t* p, Int x) { vst1_s16(p, vmovn_s32(x)); }
};

}  // namespace
}  // namespace kinglet
