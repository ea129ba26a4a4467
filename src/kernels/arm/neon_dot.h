// NEON with dot products of 8-bit numbers: each instruction multiplies 4 codes of 4 rows.
#pragma once

#include "kernels/arm/neon_vector.h"

namespace kinglet {
namespace {

struct NeonDotVector : NeonVector {
  static constexpr bool kSumsSevenBits = true;
  struct Codes {
    int8_t codes[4];
  };
  static void store_codes(int8_t* p, Int x) {
    const int32_t four = vget_lane_s32(vreinterpret_s32_s8(narrow(x)), 0);
    std::memcpy(p, &four, sizeof four);
  }

  struct UnsignedDot {
    static constexpr bool kConstantSteps = true;
    Int sums = vdupq_n_s32(0);
    void add(Bytes w, const Codes& x) {
      int32_t four;
      std::memcpy(&four, x.codes, sizeof four);
      sums = vdotq_s32(sums, s8(w), s8(vdupq_n_s32(four)));
    }
    // The vector holds four steps; the instruction selects one of them.
    template <size_t I>
    void add(Bytes w, const Codes* x) {
      sums = vdotq_laneq_s32(sums, s8(w), vld1q_s8(x[I / 4 * 4].codes), I % 4);
    }
    Int sum() const { return sums; }
  };
  using NibbleDot = UnsignedDot;
  using SignedDot = UnsignedDot;
};

}  // namespace
}  // namespace kinglet
