// Relaxed wasm SIMD: 8-bit dot products and fused multiply-add. The result of a dot is the same on
// all machines if its second operand is in 0..127. Most machines also compute it for other bytes,
// signed (ARM) or unsigned (x86 since 2021): there, codes that are bytes need one dot, not two.
#include "kernels/instruction_sets.h"
#include "kernels/vector_kernels.h"
#include "kernels/wasm_vector.h"

namespace kinglet {
namespace {

struct RelaxedSimd : WasmVector {
  static constexpr size_t kTokens = 8;
  static constexpr size_t kTokensOf256 = 4;
  static constexpr size_t kTokensOfBytes = 4;
  static constexpr size_t kTokensOfFloats = 3;
  // If unrolled, tiles of Q8_0 need more than 16 registers.
  static constexpr bool kRollSteps = true;
  static constexpr size_t kCopies = 1;
  struct Codes {
    int8_t codes[4];
  };
  using Unsigned = v128_t;
  // The code is low_bits - 128 signs.
  struct Signed {
    v128_t low_bits;
    v128_t signs;  // 1 where the code is negative, 0 elsewhere
  };

  static Float fma(Float a, Float b, Float c) { return wasm_f32x4_relaxed_madd(a, b, c); }
  static Float broadcast(const float (&x)[kCopies]) { return wasm_v128_load32_splat(x); }
  static Int broadcast_int(const int32_t (&x)[kCopies]) { return wasm_v128_load32_splat(x); }
  static void store_codes(int8_t* p, Int x) {
    const v128_t words = wasm_i16x8_narrow_i32x4(x, x);
    wasm_v128_store32_lane(p, wasm_i8x16_narrow_i16x8(words, words), 0);
  }
  static Bytes look_up(const int8_t (&table)[16], Bytes i) {
    return wasm_i8x16_relaxed_swizzle(wasm_v128_load(table), i);
  }
  static Unsigned as_unsigned(Bytes x) { return x; }
  static Signed as_signed(Bytes x) { return {move_bits<0, 0x7f>(x), move_bits<-7, 0x01>(x)}; }

  static Int dot(v128_t w, v128_t x, Int sums) {
    return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(x, w, sums);
  }
  // One instruction on ARM and on x86 since 2021.
  struct UnsignedDot {
    Int sums = wasm_i32x4_const_splat(0);
    void add(Unsigned w, const Codes& x) { sums = dot(w, wasm_v128_load32_splat(x.codes), sums); }
    Int sum() const { return sums; }
  };
  using NibbleDot = UnsignedDot;
  struct SignedDot {
    Int low_sums = wasm_i32x4_const_splat(0);
    Int sign_sums = wasm_i32x4_const_splat(0);
    void add(Signed w, const Codes& x) {
      const v128_t codes = wasm_v128_load32_splat(x.codes);
      low_sums = dot(w.low_bits, codes, low_sums);
      sign_sums = dot(w.signs, codes, sign_sums);
    }
    Int sum() const { return sub(low_sums, wasm_i32x4_shl(sign_sums, 7)); }
  };
};

// For machines whose dot accepts any byte: codes are passed as bytes code + kOffset, unsigned with
// an offset of 128 and signed with an offset of 0.
template <int32_t kOffset>
struct WholeBytes : RelaxedSimd {
  static constexpr int32_t kSignedOffset = kOffset;
  using Signed = v128_t;
  using SignedDot = UnsignedDot;

  static Signed as_signed(Bytes x) {
    return kOffset == 0 ? x : wasm_v128_xor(x, wasm_u8x16_const_splat(kOffset));
  }
};

// Returns whether this machine's dots of four equal bytes and four equal codes are `expected`.
bool dots_are(v128_t expected) {
  // Volatile, so that the compiler cannot compute the dots. On machines that read bytes as unsigned
  // and sum pairs of products in 16 bits, the first two dots overflow.
  const volatile uint32_t codes[] = {0x81818181, 0x7f7f7f7f, 0x81818181, 0x7f7f7f7f};  // ±127
  const volatile uint32_t bytes[] = {0xffffffff, 0xffffffff, 0x80808080, 0x81818181};
  const v128_t dots =
      RelaxedSimd::dot(wasm_u32x4_make(bytes[0], bytes[1], bytes[2], bytes[3]),
                       wasm_u32x4_make(codes[0], codes[1], codes[2], codes[3]), expected);
  return wasm_i32x4_all_true(wasm_i32x4_eq(dots, wasm_i32x4_shl(expected, 1)));
}

KernelSet kernels_of_machine() {
  KernelSet kernels = VectorKernels<RelaxedSimd>::kernel_set("relaxed-simd");
  constexpr int32_t kCode = 4 * 127;
  if (dots_are(wasm_i32x4_make(-255 * kCode, 255 * kCode, -128 * kCode, 129 * kCode))) {
    VectorKernels<WholeBytes<128>>::use_bytes(kernels);
  } else if (dots_are(wasm_i32x4_make(kCode, -kCode, 128 * kCode, -127 * kCode))) {
    VectorKernels<WholeBytes<0>>::use_bytes(kernels);
  }
  return kernels;
}

}  // namespace

const KernelSet& wasm_kernels() {
  static const KernelSet kernels = kernels_of_machine();
  return kernels;
}

}  // namespace kinglet
