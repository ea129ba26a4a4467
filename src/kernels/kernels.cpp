#include "kernels/kernels.h"

#include <algorithm>
#include <vector>

#include "kernels/instruction_sets.h"

namespace kinglet {
std::span<const KernelSet* const> available_kernels() {
  static const auto available = [] {
    std::vector<const KernelSet*> sets;
    for (const auto& [kernels, runs_here] : kInstructionSets) {
      if (runs_here()) sets.push_back(&kernels());
    }
    return sets;
  }();
  return available;
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
  const size_t n_interleaved = w.n_rows / w.interleave * w.interleave;
  const size_t interleaved_end = std::min(row_end, n_interleaved);
  if (row_begin < interleaved_end) {
    matmul_kernel(kernels, w.type)
        .multiply(w, x, n_tokens, y, y_stride, row_begin, interleaved_end);
  }
  if (row_end > n_interleaved) {
    matmul_kernel(scalar_kernels(), w.type)
        .multiply(w, x, n_tokens, y, y_stride, std::max(row_begin, n_interleaved), row_end);
  }
}

}  // namespace kinglet
