#include "kernels/kernels.h"

#include <algorithm>
#include <array>

#include "kernels/arm_features.h"
#include "kernels/instruction_sets.h"

namespace kinglet {
namespace {

struct Available {
  std::array<const KernelSet*, kMostKernelSets> sets{};
  size_t n = 0;

  void add(const KernelSet& set) { sets[n++] = &set; }
};

// Instruction sets are only chosen here: in wasm by the linker, because a module is validated as a
// whole and has one set, natively at run time.
Available detect() {
  Available available;
#if defined(__wasm__)
  // One set per module: no page would use both, but every page would download both.
  available.add(wasm_kernels());
#elif defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
    available.add(avx512_vnni_kernels());
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c")) {
    if (__builtin_cpu_supports("avxvnni")) available.add(avx_vnni_kernels());
    available.add(avx2_kernels());
  }
#elif defined(__aarch64__)
  if (arm::has_matrix_products()) available.add(neon_i8mm_kernels());
  if (arm::has_dot_products()) available.add(neon_dotprod_kernels());
  available.add(neon_kernels());
#endif
  available.add(scalar_kernels());
  return available;
}

}  // namespace

std::span<const KernelSet* const> available_kernels() {
  static const Available available = detect();
  return {available.sets.data(), available.n};
}

const KernelSet* find_kernels(std::string_view name) {
  const auto sets = available_kernels();
  const auto set = std::find_if(sets.begin(), sets.end(),
                                [name](const KernelSet* kernels) { return kernels->name == name; });
  return set == sets.end() ? nullptr : *set;
}

void prepare_activations(const KernelSet& kernels, ActivationFormat format, const Activations& x,
                         size_t token) {
  if (format == ActivationFormat::f32) return;
  kernels.quantize(x, token);
  if (format == ActivationFormat::tables) kernels.tabulate(x, token);
}

void multiply_rows(const KernelSet& kernels, const PackedMatrix& w, const Activations& x,
                   size_t n_tokens, float* y, size_t y_stride, size_t row_begin, size_t row_end) {
  const size_t n_woven = w.n_rows / w.interleave * w.interleave;
  const size_t woven_end = std::min(row_end, n_woven);
  if (row_begin < woven_end) {
    matmul_kernel(kernels, w.type).multiply(w, x, n_tokens, y, y_stride, row_begin, woven_end);
  }
  if (row_end > n_woven) {
    matmul_kernel(scalar_kernels(), w.type)
        .multiply(w, x, n_tokens, y, y_stride, std::max(row_begin, n_woven), row_end);
  }
}

}  // namespace kinglet
