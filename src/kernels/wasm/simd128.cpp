// Plain wasm SIMD. It has no 8-bit dot products, so activations are stored as 16-bit codes, widened
// once, and multiplied with i32x4.dot_i16x8. For several tokens, weights are widened once, too.
#include "kernels/instruction_sets.h"
#include "kernels/vector/kernels.h"
#include "kernels/wasm/wasm_vector.h"

namespace kinglet {
namespace {

struct Simd128 : WasmVector {
  static constexpr size_t kCopies = 4;
  // cppcheck-suppress duplInheritedMember
  static constexpr bool kRollNibbles = true;
  using Words = WasmWords;
  using PanelVector = Simd128;
  // cppcheck-suppress duplInheritedMember
  static constexpr TileTokens kTokens{.q5_k = 0, .floats = 2, .codebooks = 0, .others = 0};
  struct Codes {
    int16_t codes[8];  // 4 codes, twice
  };
  struct Rows {
    v128_t rows01;  // 4 codes of row 0, 4 codes of row 1
    v128_t rows23;
  };
  using Unsigned = Rows;
  using Signed = Rows;

  static Float fma(Float a, Float b, Float c) { return add(mul(a, b), c); }
  static Float broadcast(const float (&x)[kCopies]) { return wasm_v128_load(x); }
  static Int broadcast_int(const int32_t (&x)[kCopies]) { return wasm_v128_load(x); }
  static void store_codes(int16_t* p, Int x) { wasm_v128_store(p, wasm_i16x8_narrow_i32x4(x, x)); }
  static Int load_two_steps(const Codes* x) {
    return wasm_i32x4_shuffle(wasm_v128_load(x[0].codes), wasm_v128_load(x[1].codes), 0, 1, 4, 5);
  }
  static Unsigned as_unsigned(Bytes x) {
    return {wasm_u16x8_extend_low_u8x16(x), wasm_u16x8_extend_high_u8x16(x)};
  }
  static Signed as_signed(Bytes x) {
    return {wasm_i16x8_extend_low_i8x16(x), wasm_i16x8_extend_high_i8x16(x)};
  }

  struct UnsignedDot {
    // Each row has two partial sums in neighbouring lanes.
    Int rows01 = wasm_i32x4_const_splat(0);
    Int rows23 = wasm_i32x4_const_splat(0);
    void add(Rows w, const Codes& x) {
      const v128_t codes = wasm_v128_load(x.codes);
      rows01 = add_int(rows01, wasm_i32x4_dot_i16x8(w.rows01, codes));
      rows23 = add_int(rows23, wasm_i32x4_dot_i16x8(w.rows23, codes));
    }
    Int sum() const {
      return add_int(wasm_i32x4_shuffle(rows01, rows23, 0, 2, 4, 6),
                     wasm_i32x4_shuffle(rows01, rows23, 1, 3, 5, 7));
    }
  };
  using NibbleDot = UnsignedDot;
  using SignedDot = UnsignedDot;
};

}  // namespace

const KernelSet& wasm_kernels() {
  static const KernelSet kernels = VectorKernels<Simd128>::kernel_set("simd128");
  return kernels;
}

}  // namespace kinglet
