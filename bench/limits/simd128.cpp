#include "limits/limits.h"
#include "limits/wasm_vector.h"

namespace kinglet::limits {
namespace {

// Codes of any width are first widened to 16 bits.
struct Codes : WasmOperation {
  static constexpr uint32_t kProducts = 8;
  static v128_t splat(const void* p) { return wasm_v128_load64_splat(p); }
  static Sum add(Sum sum, v128_t w, v128_t x) {
    return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(w, x));
  }
};

struct Floats : WasmOperation {
  static constexpr uint32_t kProducts = 4;
  static Sum add(Sum sum, v128_t w, v128_t x) { return wasm_f32x4_add(sum, wasm_f32x4_mul(w, x)); }
};

}  // namespace

const Limits& wasm_limits() {
  static constexpr Limits kLimits = {
      "simd128",
      run_read<WasmVector>,
      {multiplication<Codes>(), multiplication<Codes>(), multiplication<Floats>()}};
  return kLimits;
}

}  // namespace kinglet::limits
