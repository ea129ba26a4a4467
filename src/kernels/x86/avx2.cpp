// AVX2 with FMA and F16C: pairs of 8-bit products are summed in 16 bits.
#include "kernels/instruction_sets.h"
#include "kernels/vector/kernels.h"
#include "kernels/x86/avx2_vector.h"

namespace kinglet {
namespace {

struct Avx2 : Avx2Vector {
  static constexpr int32_t kSignedOffset = 0;
  struct Signed {
    __m256i weights;
    __m256i magnitudes;
  };

  static Signed as_signed(Bytes x) { return {x, _mm256_abs_epi8(x)}; }
  static Int widen(__m256i pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }

  // A step adds at most 2 * 15 * 127 = 3810 to a 16-bit sum, so 8 steps fit.
  struct NibbleDot {
    __m256i pairs = _mm256_setzero_si256();
    void add(Unsigned w, const Codes& x) {
      pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(w, splat_codes(x)));
    }
    Int sum() const { return widen(pairs); }
  };
  struct UnsignedDot {
    Int sums = _mm256_setzero_si256();
    void add(Unsigned w, const Codes& x) {
      sums = add_int(sums, widen(_mm256_maddubs_epi16(w, splat_codes(x))));
    }
    Int sum() const { return sums; }
  };
  // One operand of the instruction is unsigned: the weight's sign is moved to the activation.
  struct SignedDot {
    Int sums = _mm256_setzero_si256();
    void add(Signed w, const Codes& x) {
      const __m256i codes = _mm256_sign_epi8(splat_codes(x), w.weights);
      sums = add_int(sums, widen(_mm256_maddubs_epi16(w.magnitudes, codes)));
    }
    Int sum() const { return sums; }
  };
};

}  // namespace

const KernelSet& avx2_kernels() {
  static const KernelSet kernels = VectorKernels<Avx2>::kernel_set("avx2");
  return kernels;
}

}  // namespace kinglet
