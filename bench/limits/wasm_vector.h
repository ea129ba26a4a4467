// Shared by the two wasm instruction sets.
#pragma once

#include <wasm_simd128.h>

#include "limits/limits.h"

namespace kinglet::limits {
namespace {

struct WasmVector {
  using Vector = v128_t;
  static Vector load(const void* p) { return wasm_v128_load(p); }
  static Vector add(Vector a, Vector b) { return wasm_i32x4_add(a, b); }
};

// 8 sums leave room for the operands in x86's 16 registers.
struct WasmOperation {
  using Sum = v128_t;
  using Weights = v128_t;
  static constexpr uint32_t kRows = 2;
  static constexpr uint32_t kTokens = 4;
  static v128_t as_weights(const void* p) { return wasm_v128_load(p); }
  static v128_t splat(const void* p) { return wasm_v128_load32_splat(p); }
};

}  // namespace
}  // namespace kinglet::limits
