// NEON for all 64-bit ARM processors: 8-bit products, summed in 16 bits as long as they fit.
#include "kernels/arm/neon_vector.h"
#include "kernels/instruction_sets.h"
#include "kernels/vector/kernels.h"

namespace kinglet {
namespace {

struct Neon : NeonVector {
  static constexpr TileTokens kTokens{
      .q4_0 = 4, .q5_0 = 4, .q8_0 = 4, .q4_k = 4, .q6_k = 4, .floats = 4};
  static constexpr bool kSumsSevenBits = false;
  struct Codes {
    int8_t codes[16];  // 4 codes, four times
  };
  static void store_codes(int8_t* p, Int x) {
    const int8x8_t codes = narrow(x);
    vst1q_s8(p, vcombine_s8(codes, codes));
  }

  // Each lane sums one product per step. 8 steps with codes 0..31 fit, or 4 with codes 0..63.
  struct NibbleDot {
    int16x8_t rows01 = vdupq_n_s16(0);
    int16x8_t rows23 = vdupq_n_s16(0);
    void add(Bytes w, const Codes& x) {
      const int8x16_t codes = vld1q_s8(x.codes);
      rows01 = vmlal_s8(rows01, vget_low_s8(s8(w)), vget_low_s8(codes));
      rows23 = vmlal_high_s8(rows23, s8(w), codes);
    }
    Int sum() const { return vpaddq_s32(vpaddlq_s16(rows01), vpaddlq_s16(rows23)); }
  };
  struct UnsignedDot : NibbleDot {
    static constexpr bool kConstantSteps = true;
    template <size_t I>
    void add(Bytes w, const Codes* x) {
      NibbleDot::add(w, x[I]);
    }
  };

  // The sums of two neighbouring steps' products fit into 16 bits. The first four steps and the
  // last four may alternate, so each half has its own products.
  struct SignedDot {
    static constexpr bool kConstantSteps = true;
    int16x8_t products01[2];
    int16x8_t products23[2];
    // Each row has two sums in neighbouring lanes.
    Int rows01 = vdupq_n_s32(0);
    Int rows23 = vdupq_n_s32(0);
    template <size_t I>
    void add(Signed w, const Codes* x) {
      const int8x16_t codes = vld1q_s8(x[I].codes);
      int16x8_t& even01 = products01[I / 4];
      int16x8_t& even23 = products23[I / 4];
      if constexpr (I % 2 == 0) {
        even01 = vmull_s8(vget_low_s8(s8(w)), vget_low_s8(codes));
        even23 = vmull_high_s8(s8(w), codes);
      } else {
        const int8x8_t low = vget_low_s8(s8(w));
        rows01 = vpadalq_s16(rows01, vmlal_s8(even01, low, vget_low_s8(codes)));
        rows23 = vpadalq_s16(rows23, vmlal_high_s8(even23, s8(w), codes));
      }
    }
    Int sum() const { return vpaddq_s32(rows01, rows23); }
  };
};

}  // namespace

const KernelSet& neon_kernels() {
  static const KernelSet kernels = VectorKernels<Neon>::kernel_set("neon");
  return kernels;
}

}  // namespace kinglet
