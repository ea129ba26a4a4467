// Relaxed wasm SIMD: 8-bit dot products and fused multiply-add. The result of a dot is the same on
// all machines if its second operand is in 0..127. Most machines also compute it for other bytes,
// signed (ARM) or unsigned (x86 with AVX-VNNI): there, it is one instruction, and codes that are
// bytes need one dot, not two.
#include "kernels/instruction_sets.h"
#include "kernels/vector/kernels.h"
#include "kernels/wasm/wasm_vector.h"

namespace kinglet {
namespace {

struct RelaxedSimd : WasmVector {
  static constexpr size_t kCopies = 1;
  using Words = WasmWords;
  using PanelVector = RelaxedSimd;  // all that follow have the same activations
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
  static Int load_two_steps(const Codes* x) { return wasm_i16x8_load8x8(x[0].codes); }
  static Bytes look_up(const int8_t (&table)[16], Bytes i) {
    return wasm_i8x16_relaxed_swizzle(wasm_v128_load(table), i);
  }
  static Unsigned as_unsigned(Bytes x) { return x; }
  static Signed as_signed(Bytes x) { return {move_bits<0, 0x7f>(x), move_bits<-7, 0x01>(x)}; }

  static Int dot(v128_t w, v128_t x, Int sums) {
    return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(x, w, sums);
  }
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

// For all other machines. On x86 without AVX-VNNI, browsers need five instructions for a dot. The
// one of them that computes sums of two products, in 16 bits, is also a relaxed operation of its
// own. Its results are the same on all machines for what is passed here. Codes of more than 5 bits
// are multiplied as words if there are several tokens: that takes no more products than nibbles,
// and fewer additions.
struct PairSums : RelaxedSimd {
  static constexpr TileTokens kTokens{.q4_0 = 8, .q5_0 = 8, .q4_k = 4, .floats = 2, .codebooks = 0};
  static constexpr size_t kNibbleSteps = 8;
  static constexpr int32_t kSignedOffset = 128;
  // The code is 16 * high + low - kSignedOffset.
  struct Signed {
    v128_t low;
    v128_t high;
  };

  static Signed as_signed(Bytes x) {
    x = wasm_v128_xor(x, wasm_u8x16_const_splat(kSignedOffset));
    return {move_bits<0, 0x0f>(x), move_bits<-4, 0x0f>(x)};
  }
  static Int dot_pairs(v128_t w, v128_t codes) {
    return wasm_i16x8_relaxed_dot_i8x16_i7x16(codes, w);
  }
  // A step adds at most 2 * 15 * 127 = 3810 to a 16-bit sum, so 8 steps fit.
  struct NibbleDot {
    Int pairs = wasm_i16x8_const_splat(0);
    void add(Unsigned w, v128_t codes) { pairs = wasm_i16x8_add(pairs, dot_pairs(w, codes)); }
    void add(Unsigned w, const Codes& x) { add(w, wasm_v128_load32_splat(x.codes)); }
    Int sum() const { return wasm_i32x4_extadd_pairwise_i16x8(pairs); }
  };
  struct SignedDot {
    NibbleDot low;
    NibbleDot high;
    void add(Signed w, const Codes& x) {
      const v128_t codes = wasm_v128_load32_splat(x.codes);
      low.add(w.low, codes);
      high.add(w.high, codes);
    }
    Int sum() const { return add_int(low.sum(), wasm_i32x4_shl(high.sum(), 4)); }
  };
  // For codes up to 127, so that a sum of two products fits.
  struct UnsignedDot {
    Int sums = wasm_i32x4_const_splat(0);
    void add(Unsigned w, const Codes& x) {
      const v128_t pairs = dot_pairs(w, wasm_v128_load32_splat(x.codes));
      sums = add_int(sums, wasm_i32x4_extadd_pairwise_i16x8(pairs));
    }
    Int sum() const { return sums; }
  };
};

// Returns whether this machine's dots of four equal bytes and four equal codes are `expected`.
bool dots_are(v128_t expected) {
  // Volatile, so that the compiler cannot compute the dots. Where pairs of products are summed in
  // 16 bits, the first two dots overflow.
  const volatile uint32_t codes[] = {0x81818181, 0x7f7f7f7f, 0x81818181, 0x7f7f7f7f};  // ±127
  const volatile uint32_t bytes[] = {0xffffffff, 0xffffffff, 0x80808080, 0x81818181};
  const v128_t dots =
      RelaxedSimd::dot(wasm_u32x4_make(bytes[0], bytes[1], bytes[2], bytes[3]),
                       wasm_u32x4_make(codes[0], codes[1], codes[2], codes[3]), expected);
  return wasm_i32x4_all_true(wasm_i32x4_eq(dots, wasm_i32x4_shl(expected, 1)));
}

KernelSet kernels_of_machine() {
  KernelSet kernels = VectorKernels<RelaxedSimd>::uncommon_kernels("relaxed-simd");
  constexpr int32_t kCode = 4 * 127;
  if (dots_are(wasm_i32x4_make(-255 * kCode, 255 * kCode, -128 * kCode, 129 * kCode))) {
    VectorKernels<RelaxedSimd>::use_common_types(kernels);
    VectorKernels<RelaxedSimd>::use_codebooks(kernels);
    VectorKernels<WholeBytes<128>>::use_bytes(kernels);
  } else if (dots_are(wasm_i32x4_make(kCode, -kCode, 128 * kCode, -127 * kCode))) {
    VectorKernels<RelaxedSimd>::use_common_types(kernels);
    VectorKernels<RelaxedSimd>::use_codebooks(kernels);
    VectorKernels<WholeBytes<0>>::use_bytes(kernels);
  } else {
    VectorKernels<PairSums>::use_common_types(kernels);
    VectorKernels<PairSums>::use_codebooks(kernels);
    VectorKernels<PairSums>::use_bytes(kernels);
  }
  return kernels;
}

}  // namespace

const KernelSet& wasm_kernels() {
  static const KernelSet kernels = kernels_of_machine();
  return kernels;
}

}  // namespace kinglet
