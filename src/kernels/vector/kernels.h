// All vectorized kernels, written once over a vector type V: see vector_type.h.
#pragma once

#include "kernels/kernels.h"
#include "kernels/vector/attention.h"
#include "kernels/vector/math.h"
#include "kernels/vector/matmul.h"
#include "kernels/vector/panel_matmul.h"
#include "kernels/vector/recurrent.h"
#include "kernels/vector/table_matmul.h"
#include "kernels/vector/vector_type.h"

namespace kinglet {

template <VectorType V>
struct VectorKernels {
  using Math = VectorMath<V>;
  using Matmul = VectorMatmul<V>;
  using Tables = TableMatmul<V>;
  using Recurrent = VectorRecurrent<V>;

  // Returns the whole set. VectorAttention::add_to() adds attention; functions that are not
  // vectorized stay scalar.
  static KernelSet kernel_set(std::string_view name) {
    KernelSet set = uncommon_kernels(name);
    use_common_types(set);
    use_codebooks(set);
    use_bytes(set);
    return set;
  }

  // Returns the set without the products of the common weight types and of IQ1 to IQ3.
  static KernelSet uncommon_kernels(std::string_view name) {
    KernelSet set = scalar_kernels();
    set.name = name;
    set.activation_block_bytes = sizeof(ActivationBlock<V>);
    set.quantize = Matmul::quantize;
    set.tabulate = Tables::tabulate;
    set.rms_norm = Math::rms_norm;
    set.layer_norm = Math::layer_norm;
    set.add_scaled = Math::add_scaled;
    set.multiply = Math::multiply;
    set.convolve = Recurrent::convolve;
    set.delta_rule = Recurrent::delta_rule;
    set.state_space = Recurrent::state_space;
    set.silu = Math::silu;
    set.sigmoid_multiply = Math::sigmoid_multiply;
    set.silu_multiply = Math::silu_multiply;
    set.gelu_multiply = Math::gelu_multiply;
    set.gelu = Math::gelu;
    set.relu_squared = Math::relu_squared;
    set.xielu = Math::xielu;
    set.softcap = Math::softcap;
    set.rope_interleaved = Math::rope_interleaved;
    set.rope_halves = Math::rope_halves;
    set.softmax_part = Math::softmax_part;
    set.largest = Math::largest;
    VectorAttention<V>::add_to(set);

    set.matmul.fill({Matmul::multiply_dequantized, ActivationFormat::f32, 1});
    use(set, DType::f32, {Matmul::template multiply_floats<float>, ActivationFormat::f32, 1});
    use(set, DType::f16, {Matmul::template multiply_floats<Half>, ActivationFormat::f32, 1});
    use(set, DType::bf16, {Matmul::template multiply_floats<BFloat16>, ActivationFormat::f32, 1});
    use_interleaved<BlockDot, InterleavedQ4_1, V::kTokens.others>(set, DType::q4_1);
    use_interleaved<BlockDot, InterleavedQ5_1, V::kTokens.others>(set, DType::q5_1);
    use_interleaved<BlockDot, InterleavedQ5_K, V::kTokens.q5_k>(set, DType::q5_k);
    use_interleaved<SubBlockDot, InterleavedQ2_K, 1>(set, DType::q2_k);
    use_interleaved<SubBlockDot, InterleavedQ3_K, V::kTokens.others>(set, DType::q3_k);
    use_interleaved<BlockDot, InterleavedIQ4_NL, V::kTokens.others>(set, DType::iq4_nl);
    use_interleaved<BlockDot, InterleavedIQ4_XS, V::kTokens.others>(set, DType::iq4_xs);
    use_interleaved<BlockDot, InterleavedMXFP4, V::kTokens.others>(set, DType::mxfp4);
    use_interleaved<HalfBlockDot, InterleavedNVFP4, 1>(set, DType::nvfp4);
    use_interleaved<TernaryDot, InterleavedTQ1_0, 1>(set, DType::tq1_0);
    use_interleaved<TernaryDot, InterleavedPTQ1_0, 1>(set, DType::ptq1_0);
    use_tables<TableQ1_0>(set, DType::q1_0);
    if constexpr (V::kTokens.pairs > 0) {
      use_interleaved<PairDot, InterleavedQ2_0, V::kTokens.pairs>(set, DType::q2_0);
      use_interleaved<PairDot, InterleavedPQ2_0, V::kTokens.pairs>(set, DType::pq2_0);
      use_interleaved<PairDot, InterleavedTQ2_0, V::kTokens.pairs>(set, DType::tq2_0);
    } else {
      use_tables<TablePairs<BlockQ2_0>>(set, DType::q2_0);
      use_tables<TablePairs<BlockPQ2_0>>(set, DType::pq2_0);
      use_tables<TableTQ2_0>(set, DType::tq2_0);
    }
    return set;
  }

  // Sets the kernels of the common types whose codes have fewer bits than a byte.
  static void use_common_types(KernelSet& set) {
    use_interleaved<BlockDot, InterleavedQ4_0, V::kTokens.q4_0>(set, DType::q4_0);
    use_interleaved<BlockDot, InterleavedQ5_0, V::kTokens.q5_0>(set, DType::q5_0);
    use_interleaved<BlockDot, InterleavedQ4_K, V::kTokens.q4_k>(set, DType::q4_k);
    use_interleaved<SubBlockDot, InterleavedQ6_K, V::kTokens.q6_k>(set, DType::q6_k);
  }

  // Sets the kernels of IQ1 to IQ3.
  static void use_codebooks(KernelSet& set) {
    use_interleaved<SubBlockDot, InterleavedIQ1_S, V::kTokens.codebooks>(set, DType::coded_iq1_s);
    use_interleaved<SubBlockDot, InterleavedIQ1_M, V::kTokens.codebooks>(set, DType::coded_iq1_m);
    use_interleaved<PartDot, InterleavedIQ2_XXS, V::kTokens.codebooks>(set, DType::coded_iq2_xxs);
    use_interleaved<PartDot, InterleavedIQ2, V::kTokens.codebooks>(set, DType::coded_iq2);
    use_interleaved<PartDot, InterleavedIQ3_XXS, V::kTokens.codebooks>(set, DType::coded_iq3_xxs);
    use_interleaved<PartDot, InterleavedIQ3_S, V::kTokens.codebooks>(set, DType::coded_iq3_s);
  }

  // Sets the kernel of the type whose codes are bytes.
  static void use_bytes(KernelSet& set) {
    use_interleaved<BlockDot, InterleavedQ8_0, V::kTokens.q8_0>(set, DType::q8_0);
  }

 private:
  static void use(KernelSet& set, DType type, const MatmulKernel& kernel) {
    set.matmul[dtype_index(type)] = kernel;
  }

  // Sets a kernel that unpacks weights once for each tile of kTokens tokens, or for all tokens if
  // kTokens is 0.
  template <template <class> class Dot, template <class> class Format, size_t kTokens>
  static void use_interleaved(KernelSet& set, DType type) {
    if constexpr (kTokens == 0) {
      use(set, type, {multiply_in_panels<Dot, Format>, ActivationFormat::int8, Matmul::kRows});
    } else {
      use(set, type,
          {Matmul::template multiply_interleaved<Dot<Format<V>>, kTokens>, ActivationFormat::int8,
           Matmul::kRows});
    }
  }

  // Multiplies whole tiles of tokens by panels of the matrix, and single tokens by interleaved
  // rows.
  template <template <class> class Dot, template <class> class Format>
  static void multiply_in_panels(const PackedMatrix& w, const Activations& x, size_t n_tokens,
                                 float* y, size_t y_stride, size_t row_begin, size_t row_end) {
    using Panels = PanelMatmul<typename V::PanelVector>;
    const size_t n_tiled = n_tokens / Panels::kTileTokens * Panels::kTileTokens;
    if (n_tiled > 0) {
      Panels::template multiply<Dot<Format<typename V::Words>>>(w, x, n_tiled, y, y_stride,
                                                                row_begin, row_end);
    }
    Matmul::template multiply_from<Dot<Format<V>>, 1>(w, x, n_tiled, n_tokens, y, y_stride,
                                                      row_begin, row_end);
  }

  template <class Format>
  static void use_tables(KernelSet& set, DType type) {
    use(set, type,
        {Tables::template multiply<Format>, ActivationFormat::tables, Tables::kGroupRows});
  }
};

}  // namespace kinglet
