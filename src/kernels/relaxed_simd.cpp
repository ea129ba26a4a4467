// Relaxed wasm SIMD: 8-bit dot products and fused multiply-add. The dot's second operand must stay
// in 0..127, where all machines agree on its result.
#include "kernels/instruction_sets.h"
#include "kernels/vector_kernels.h"
#include "kernels/wasm_vector.h"

namespace kinglet {
namespace {

struct RelaxedSimd : WasmVector {
  static constexpr size_t kTokens = 8;
  static constexpr size_t kTokensOf256 = 8;
  static constexpr size_t kTokensOfBytes = 4;
  static constexpr size_t kTokensOfFloats = 3;
  // Unrolled, tiles of Q8_0 need more registers than 16.
  static constexpr bool kRollSteps = true;
  struct Codes {
    int8_t codes[16];  // 4, four times
  };
  using Unsigned = v128_t;
  // The code is low_bits - 128 signs.
  struct Signed {
    v128_t low_bits;
    v128_t signs;  // 1 where the code is negative, 0 elsewhere
  };

  static Float fma(Float a, Float b, Float c) { return wasm_f32x4_relaxed_madd(a, b, c); }
  static void store_codes(int8_t* p, Int x) {
    const v128_t words = wasm_i16x8_narrow_i32x4(x, x);
    wasm_v128_store(p, wasm_i8x16_narrow_i16x8(words, words));
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
    void add(Unsigned w, const Codes& x) { sums = dot(w, wasm_v128_load(x.codes), sums); }
    Int sum() const { return sums; }
  };
  using NibbleDot = UnsignedDot;
  struct SignedDot {
    Int low_sums = wasm_i32x4_const_splat(0);
    Int sign_sums = wasm_i32x4_const_splat(0);
    void add(Signed w, const Codes& x) {
      const v128_t codes = wasm_v128_load(x.codes);
      low_sums = dot(w.low_bits, codes, low_sums);
      sign_sums = dot(w.signs, codes, sign_sums);
    }
    Int sum() const { return sub(low_sums, wasm_i32x4_shl(sign_sums, 7)); }
  };
};

}  // namespace

const KernelSet& relaxed_simd_kernels() {
  static const KernelSet kernels = VectorKernels<RelaxedSimd>::kernel_set("relaxed-simd");
  return kernels;
}

}  // namespace kinglet
