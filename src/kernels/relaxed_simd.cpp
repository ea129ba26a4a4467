// Relaxed wasm SIMD: 8-bit dot products and fused multiply-add. The dot's second operand must stay
// in 0..127, where all machines agree on its result.
#include "kernels/instruction_sets.h"
#include "kernels/vector_kernels.h"
#include "kernels/wasm_vector.h"

namespace kinglet {
namespace {

struct RelaxedSimd : WasmVector {
  using Code = int8_t;
  using Unsigned = v128_t;
  struct Signed {
    v128_t magnitudes;
    v128_t signs;  // -1 where the weight is negative, 0 elsewhere
  };

  static Float fma(Float a, Float b, Float c) { return wasm_f32x4_relaxed_madd(a, b, c); }
  static void store_codes(Code* p, Int x) {
    const v128_t words = wasm_i16x8_narrow_i32x4(x, x);
    wasm_v128_store32_lane(p, wasm_i8x16_narrow_i16x8(words, words), 0);
  }
  static Bytes look_up(const int8_t (&table)[16], Bytes i) {
    return wasm_i8x16_relaxed_swizzle(wasm_v128_load(table), i);
  }
  static Unsigned as_unsigned(Bytes x) { return x; }
  static Signed as_signed(Bytes x) { return {wasm_i8x16_abs(x), wasm_i8x16_shr(x, 7)}; }

  // A step adds at most 2 * 127 * 15 = 3810 to a 16-bit sum: 8 steps fit.
  struct NibbleDot {
    v128_t pairs = wasm_i16x8_const_splat(0);
    void add(Unsigned w, const Code* x) {
      const v128_t codes = wasm_v128_load32_splat(x);
      pairs = wasm_i16x8_add(pairs, wasm_i16x8_relaxed_dot_i8x16_i7x16(codes, w));
    }
    Int sum() const { return wasm_i32x4_extadd_pairwise_i16x8(pairs); }
  };
  struct UnsignedDot {
    Int sums = wasm_i32x4_const_splat(0);
    void add(Unsigned w, const Code* x) {
      sums = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(wasm_v128_load32_splat(x), w, sums);
    }
    Int sum() const { return sums; }
  };
  // The weight's sign moves to the activation: (x ^ s) - s is -x for s = -1.
  struct SignedDot {
    Int sums = wasm_i32x4_const_splat(0);
    void add(Signed w, const Code* x) {
      const v128_t flipped = wasm_v128_xor(wasm_v128_load32_splat(x), w.signs);
      const v128_t codes = wasm_i8x16_sub(flipped, w.signs);
      sums = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(codes, w.magnitudes, sums);
    }
    Int sum() const { return sums; }
  };
};

}  // namespace

const KernelSet& relaxed_simd_kernels() {
  static const KernelSet kernels = VectorKernels<RelaxedSimd>::kernel_set("relaxed-simd");
  return kernels;
}

}  // namespace kinglet
