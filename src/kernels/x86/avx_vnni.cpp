// AVX2 with AVX-VNNI: 8-bit dot products summed in 32 bits, on processors without AVX-512.
#include "kernels/instruction_sets.h"
#include "kernels/vector/kernels.h"
#include "kernels/x86/avx2_vector.h"

namespace kinglet {
namespace {

struct AvxVnni : Avx2Vector {
  static constexpr int32_t kSignedOffset = 128;
  using Signed = __m256i;

  // One operand of the instruction is unsigned: this adds kSignedOffset.
  static Signed as_signed(Bytes x) {
    return _mm256_xor_si256(x, _mm256_set1_epi8(static_cast<char>(0x80)));
  }

  struct UnsignedDot {
    Int sums = _mm256_setzero_si256();
    void add(Unsigned w, const Codes& x) {
      sums = _mm256_dpbusd_avx_epi32(sums, w, splat_codes(x));
    }
    Int sum() const { return sums; }
  };
  using NibbleDot = UnsignedDot;
  using SignedDot = UnsignedDot;

  static Int dot_words(Int sums, Int a, Int b) { return _mm256_dpwssd_avx_epi32(sums, a, b); }
};

}  // namespace

const KernelSet& avx_vnni_kernels() {
  static const KernelSet kernels = VectorKernels<AvxVnni>::kernel_set("avx-vnni");
  return kernels;
}

}  // namespace kinglet
