// The arithmetic of a forward pass, as a table of functions per instruction set.
//
// scalar_kernels() fills the whole table with plain loops; tests compare the other sets with it.
// Every other set starts from that table and replaces the functions that it makes faster. Kernels
// work on numbers and know nothing of models or files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/dtype.h"
#include "tensor/kv_kind.h"

namespace kinglet {

// The number of columns that share one activation scale.
constexpr size_t kActivationBlock = 32;

// If all numbers of a block are smaller than this, their codes are 0: the inverse of their scale
// might not be finite.
constexpr float kSmallestNumber = 1e-30f;

// The form in which a matrix multiplication reads its activations.
enum class ActivationFormat : uint8_t {
  f32,     // unchanged
  int8,    // quantized: one scale for each block of 32
  tables,  // quantized in the same way, with tables of sums that the bits of weights select
};

// The number of columns whose codes are summed in one table, and of sums in the table.
constexpr size_t kTableColumns = 4;
constexpr size_t kTableSums = 16;

// The sums of all subsets of 4 codes. Sum i adds the codes whose bit is set in i (the first column
// has bit 0) and subtracts all codes below zero. It is in 0..508, stored as low[i] + 32 * high[i].
// Eight low parts fit into a byte, and so do eight high parts: kernels sum a block of 32 columns in
// bytes.
struct SumTable {
  int8_t low[kTableSums];
  int8_t high[kTableSums];
};

// A batch of activation rows [n_tokens][n_columns], and memory for their quantized form (see
// activation_block.h), which KernelSet::quantize() fills. Rows are n_columns apart. Blocks are
// complete: where they are used, n_columns is a multiple of 32.
struct Activations {
  const float* values = nullptr;
  size_t n_columns = 0;
  std::byte* blocks = nullptr;  // [n_tokens][n_columns / 32], each of activation_block_bytes
  // KernelSet::tabulate() fills these two from the codes, for matrices that need them.
  SumTable* tables = nullptr;        // [n_tokens][n_columns / 4]
  int32_t* negative_sums = nullptr;  // [n_tokens][n_columns / 32]: sum of the codes below zero
};

// A weight matrix [n_rows][n_columns] in the layout of its kernel (see packing.h).
struct PackedMatrix {
  const std::byte* data = nullptr;
  DType type = DType::f32;
  uint32_t interleave = 1;  // number of rows in an interleaved group
  bool in_planes = false;   // codes are split into planes of bits, for tables of sums
  size_t n_rows = 0;
  size_t n_columns = 0;
};

// y[t][r] = sum over c of w[r][c] * x[t][c], for t < n_tokens and r in [row_begin, row_end). The
// rows of y are y_stride floats apart. row_begin and row_end are multiples of the kernel's
// interleave.
using MatmulFunction = void (*)(const PackedMatrix& w, const Activations& x, size_t n_tokens,
                                float* y, size_t y_stride, size_t row_begin, size_t row_end);

struct MatmulKernel {
  MatmulFunction multiply = nullptr;
  ActivationFormat activations = ActivationFormat::f32;
  uint32_t interleave = 1;
};

// Keys or values of one head at consecutive positions, in the format of a KvKind.
struct KvRows {
  const std::byte* codes;
  size_t code_stride;   // bytes from one position to the next
  const float* scales;  // each row has none, one, or one for each block
  size_t scale_stride;  // floats from one position to the next
};

// Query rows [n_rows][head_dim] that attend to the same keys.
struct Queries {
  const float* values;   // already multiplied by the scale of the scores
  const int16_t* codes;  // for integer kinds, which multiply these: see quantize_query
  const float* scales;   // [n_rows]
  const float* offsets;  // [n_rows]; integer kinds add these to all scores of a row
  size_t stride;  // from one row to the next: head_dim rounded up to whole blocks of kKvBlock
  size_t head_dim;
  // The values or codes of integer kinds transposed, with 0 for missing rows; or null. See
  // KernelSet::reads_transposed.
  const float* transposed;          // [head_dim][kMaxQueryRows]
  const int16_t* transposed_codes;  // [stride / 2][kMaxQueryRows][2]: pairs stay together
};

// The maximum numbers of positions and of rows in one call.
constexpr size_t kAttentionBlock = 64;
constexpr size_t kMaxQueryRows = 16;

// The attention functions of one KvKind. For kinds that rotate, queries and outputs are rotated,
// too (see rotate_blocks). Rows of scores and weights are kAttentionBlock apart; weights after
// n_positions are 0.
struct AttentionKernels {
  // scores[row][p] = queries[row] · keys[p], for n_rows rows; integer kinds add offsets[row].
  // Scores after n_positions may be overwritten, too.
  void (*score)(const Queries& queries, size_t n_rows, const KvRows& keys, size_t n_positions,
                float* scores);

  // outputs[row] = factors[row] * outputs[row] + sum over p of weights[row][p] * values[p]. Each
  // row has head_dim numbers. Weights are not negative.
  void (*weigh)(const float* weights, const float* factors, size_t n_rows, const KvRows& values,
                size_t n_positions, size_t head_dim, float* const* outputs);

  // Null for kinds that are multiplied in their stored form. Others are first converted to floats,
  // and the two functions above take those: out[p] = row p, `stride` floats apart.
  void (*widen)(const KvRows& rows, size_t n_positions, size_t head_dim, size_t stride,
                float* out) = nullptr;
};

// Tokens of one head of the gated delta rule (Yang et al., 2024: Gated Delta Networks). The state
// M [n_values][n_keys] maps keys to values. Each token multiplies M by `decay`, then corrects it by
// `strength` times its error for the token's key:
//   M ← decay M;  M ← M + strength (value − M key) keyᵀ;  output = M query
// Rows of M do not depend on each other, so a kernel processes many tokens for a few rows while
// these are in the first-level cache. A token's results do not depend on the number of tokens.
struct DeltaRule {
  const float* from;      // M before
  float* to;              // M after; may be `from`
  const float* query;     // [n_tokens][n_keys], rows row_stride floats apart
  const float* key;       // [n_tokens][n_keys], the same
  const float* value;     // [n_tokens][n_values], the same
  const float* decay;     // [n_tokens], gate_stride floats apart
  const float* strength;  // [n_tokens], the same
  size_t row_stride;
  size_t gate_stride;
  size_t n_tokens;
  size_t n_keys;
  size_t n_values;
  float* output;  // [n_tokens][n_values], rows output_stride floats apart
  size_t output_stride;
};

// Tokens of one head of a selective state space (Mamba-2, Dao and Gu, 2024). S is the state
// [n_channels][n_states]; channels do not depend on each other. For each token:
//   S ← decay S + (step x) inputᵀ;  output = S readout + skip x
struct StateSpace {
  const float* from;     // S before
  float* to;             // S after; may be `from`
  const float* x;        // [n_tokens][n_channels], rows row_stride floats apart
  const float* input;    // [n_tokens][n_states], the same: B
  const float* readout;  // [n_tokens][n_states], the same: C
  const float* decay;    // [n_tokens], gate_stride floats apart
  const float* step;     // [n_tokens], the same
  float skip;
  size_t row_stride;
  size_t gate_stride;
  size_t n_tokens;
  size_t n_channels;
  size_t n_states;
  float* output;  // [n_tokens][n_channels], rows output_stride floats apart
  size_t output_stride;
};

// Parameters of xIELU (Huang and Schlag, 2025), an activation with a trained shape:
//   positive x² + slope x where x > 0, negative (e^min(x, limit) - 1 - x) + slope x elsewhere.
struct Xielu {
  float positive = 0;
  float negative = 0;
  float slope = 0;
  float limit = 0;
};

struct KernelSet {
  std::string_view name;

  // Indexed by dtype_index(); see matmul_kernel().
  std::array<MatmulKernel, kNDTypes> matmul;

  // The size of one block of quantized activations.
  size_t activation_block_bytes;

  // Fills row `token` of x.blocks from x.values.
  void (*quantize)(const Activations& x, size_t token);

  // Fills row `token` of x.tables and x.negative_sums from x.blocks.
  void (*tabulate)(const Activations& x, size_t token);

  // out[i] = weight[i] * x[i] / sqrt(mean(x²) + epsilon), or NaN if the mean is not finite. out may
  // be x.
  void (*rms_norm)(const float* x, const float* weight, float epsilon, size_t n, float* out);

  // out[i] = weight[i] * (x[i] - mean(x)) / sqrt(variance(x) + epsilon) + bias[i]; a null bias adds
  // nothing. out may be x.
  void (*layer_norm)(const float* x, const float* weight, const float* bias, float epsilon,
                     size_t n, float* out);

  // x[i] += factor * y[i].
  void (*add_scaled)(float* x, const float* y, float factor, size_t n);

  // x[i] *= y[i].
  void (*multiply)(float* x, const float* y, size_t n);

  // out[i] = bias[i] + sum over j < width of taps[j][i] * rows[j][i]; a null bias adds nothing.
  void (*convolve)(const float* const* rows, const float* taps, const float* bias, size_t width,
                   size_t n, float* out);

  void (*delta_rule)(const DeltaRule& head);
  void (*state_space)(const StateSpace& head);

  // x[i] = silu(x[i]).
  void (*silu)(float* x, size_t n);

  // x[i] /= 1 + e^-gate[i].
  void (*sigmoid_multiply)(float* x, const float* gate, size_t n);

  // gate[i] = silu(gate[i]) * up[i], with silu(x) = x / (1 + e^-x).
  void (*silu_multiply)(float* gate, const float* up, size_t n);

  // gate[i] = gelu(gate[i]) * up[i], with gelu(x) = x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715
  // x³))) (Hendrycks and Gimpel, 2016: the approximation that models are trained with).
  void (*gelu_multiply)(float* gate, const float* up, size_t n);

  // x[i] = gelu(x[i]).
  void (*gelu)(float* x, size_t n);

  // x[i] = max(x[i], 0)² (Primer, So et al., 2021).
  void (*relu_squared)(float* x, size_t n);

  // x[i] = xielu(x[i]).
  void (*xielu)(float* x, const Xielu& shape, size_t n);

  // x[i] = cap * tanh(x[i] / cap); NaN where x[i] is not finite.
  void (*softcap)(float* x, float cap, size_t n);

  // Rotates the pairs (x[2i], x[2i + 1]), i < n_pairs, by the angles whose cosines and sines are
  // given (RoFormer, 2021).
  void (*rope_interleaved)(float* x, const float* cosines, const float* sines, size_t n_pairs);

  // Rotates the pairs (x[i], x[i + n_pairs]) (GPT-NeoX).
  void (*rope_halves)(float* x, const float* cosines, const float* sines, size_t n_pairs);

  // Computes one step of a softmax over numbers that come in parts (Milakov and Gimelshein, 2018).
  // Updates `largest` (-infinity before the first part) with the n > 0 numbers of this part,
  // replaces them by e^(x - largest), and adds these to `sum`. Returns the factor by which the
  // results of earlier parts must be multiplied; `sum` has already been multiplied by it.
  float (*softmax_part)(float* x, size_t n, float& largest, float& sum);

  // Returns the largest of n > 0 numbers, or NaN if one of them is not finite.
  float (*largest)(const float* x, size_t n);

  // Computes the codes of a query for integer kinds, with zeros from head_dim to stride. Returns
  // their scale: scale * codes ≈ values. For q4, the even elements of each block come before its
  // odd ones. If a value is not finite, the codes are 0 and the scale is not finite.
  float (*quantize_query)(const float* values, size_t head_dim, size_t stride, KvKind kind,
                          int16_t* codes);

  // Whether score() of many rows is faster with transposed queries (see Queries::transposed). The
  // sums are then rounded differently, so all scores of a row must be computed in the same way.
  bool reads_transposed = false;

  // Indexed by KvKind; see attention_kernels().
  std::array<AttentionKernels, kNKvKinds> attention;
};

inline const AttentionKernels& attention_kernels(const KernelSet& kernels, KvKind kind) {
  return kernels.attention[static_cast<size_t>(kind)];
}

inline const MatmulKernel& matmul_kernel(const KernelSet& kernels, DType type) {
  return kernels.matmul[dtype_index(type)];
}

// Fills the data, besides the values, that kernels of that activation format read for row `token`.
void prepare_activations(const KernelSet& kernels, ActivationFormat format, const Activations& x,
                         size_t token);

// Does the same as MatmulKernel::multiply for any range of rows that begins at a multiple of
// w.interleave. The range may include the rows that are not interleaved, at the end of the matrix.
void multiply_rows(const KernelSet& kernels, const PackedMatrix& w, const Activations& x,
                   size_t n_tokens, float* y, size_t y_stride, size_t row_begin, size_t row_end);

// Returns the sets that this build and this machine can run, fastest first; the last is scalar.
std::span<const KernelSet* const> available_kernels();

// Returns the set of that name, or null if it is unknown or this machine cannot run it.
const KernelSet* find_kernels(std::string_view name);

const KernelSet& scalar_kernels();

}  // namespace kinglet
