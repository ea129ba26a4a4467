#include "limits/limits.h"
#include "limits/wasm_vector.h"

namespace kinglet::limits {
namespace {

struct Nibbles : WasmOperation {
  static constexpr uint32_t kProducts = 16;
  static Sum add(Sum sum, v128_t w, v128_t x) {
    return wasm_i16x8_add(sum, wasm_i16x8_relaxed_dot_i8x16_i7x16(x, w));
  }
};

// The sign of the weight moves to the activation.
struct Bytes : WasmOperation {
  static constexpr uint32_t kProducts = 16;
  struct Weights {
    v128_t magnitudes;
    v128_t signs;
  };
  static Weights as_weights(const void* p) {
    const v128_t w = wasm_v128_load(p);
    return {wasm_i8x16_abs(w), wasm_i8x16_shr(w, 7)};
  }
  static Sum add(Sum sum, Weights w, v128_t x) {
    const v128_t codes = wasm_i8x16_sub(wasm_v128_xor(x, w.signs), w.signs);
    return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(codes, w.magnitudes, sum);
  }
};

struct Floats : WasmOperation {
  static constexpr uint32_t kProducts = 4;
  static Sum add(Sum sum, v128_t w, v128_t x) { return wasm_f32x4_relaxed_madd(w, x, sum); }
};

}  // namespace

const Limits& wasm_limits() {
  static constexpr Limits kLimits = {
      "relaxed-simd",
      run_read<WasmVector>,
      {multiplication<Nibbles>(), multiplication<Bytes>(), multiplication<Floats>()}};
  return kLimits;
}

}  // namespace kinglet::limits
