// The scalar kernels, which tests compare the others with: plain loops over exact weights and
// activations that are not rounded.
#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/exponential.h"
#include "kernels/activation_block.h"
#include "kernels/element.h"
#include "kernels/scalar/attention.h"
#include "kernels/scalar/recurrent.h"

namespace kinglet {
namespace {

// Weights dequantized at a time: a multiple of every type's block size.
constexpr size_t kChunk = 256;

void multiply(const PackedMatrix& w, const Activations& x, size_t n_tokens, float* y,
              size_t y_stride, size_t row_begin, size_t row_end) {
  const DTypeInfo& type = dtype_info(w.type);
  const size_t row_bytes = type.row_bytes(w.n_columns);
  float weights[kChunk];
  for (size_t row = row_begin; row < row_end; ++row) {
    for (size_t t = 0; t < n_tokens; ++t) y[t * y_stride + row] = 0.0f;
    const std::byte* blocks = w.data + row * row_bytes;
    for (size_t column = 0; column < w.n_columns; column += kChunk) {
      const size_t n = std::min(kChunk, w.n_columns - column);
      type.dequantize(blocks, weights, n);
      blocks += type.row_bytes(n);
      for (size_t t = 0; t < n_tokens; ++t) {
        const float* values = x.values + t * x.n_columns + column;
        float sum = 0.0f;
        for (size_t i = 0; i < n; ++i) sum += weights[i] * values[i];
        y[t * y_stride + row] += sum;
      }
    }
  }
}

// The part of a vector type that ActivationBlock needs.
struct Numbers {
  struct Codes {
    int8_t codes[4];
  };
  static constexpr size_t kCopies = 1;
};

void quantize(const Activations& x, size_t token) {
  ActivationBlock<Numbers>* block = activation_blocks<Numbers>(x, token);
  for (size_t column = 0; column < x.n_columns; column += kActivationBlock) {
    const float* values = x.values + token * x.n_columns + column;
    float largest = 0.0f;
    float odd = 0.0f;  // 0 times a number that is not finite is NaN
    for (size_t i = 0; i < kActivationBlock; ++i) {
      largest = std::max(largest, std::fabs(values[i]));
      odd += values[i] * 0.0f;
    }
    const bool has_codes = largest > kSmallestNumber && !std::isnan(odd);
    int32_t half_sums[2] = {0, 0};
    for (size_t i = 0; i < kActivationBlock; ++i) {
      const float number = has_codes ? values[i] * (127.0f / largest) : 0.0f;
      const auto code = static_cast<int8_t>(std::lrint(number));
      block->steps[i / 4].codes[i % 4] = code;
      half_sums[i / (kActivationBlock / 2)] += code;
    }
    block->set(largest / 127.0f + odd, half_sums[0], half_sums[1]);
    ++block;
  }
}

void tabulate(const Activations& x, size_t token) {
  const ActivationBlock<Numbers>* block = activation_blocks<Numbers>(x, token);
  SumTable* tables = x.tables + token * x.n_columns / kTableColumns;
  int32_t* negative_sums = x.negative_sums + token * x.n_columns / kActivationBlock;
  for (size_t i = 0; i < x.n_columns / kActivationBlock; ++i) {
    negative_sums[i] = 0;
    for (const auto& [codes] : block[i].steps) {
      int negative_sum = 0;
      for (const int8_t code : codes) negative_sum += std::min<int>(code, 0);
      negative_sums[i] += negative_sum;
      for (size_t bits = 0; bits < kTableSums; ++bits) {
        int sum = -negative_sum;
        for (size_t j = 0; j < kTableColumns; ++j) sum += (bits >> j & 1) != 0 ? codes[j] : 0;
        tables->low[bits] = static_cast<int8_t>(sum % 32);
        tables->high[bits] = static_cast<int8_t>(sum / 32);
      }
      ++tables;
    }
  }
}

void rms_norm(const float* x, const float* weight, float epsilon, size_t n, float* out) {
  double sum = 0.0;
  for (size_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  const auto mean = static_cast<float>(sum / static_cast<double>(n));
  const float scale = element::inverse_root(mean + epsilon);
  for (size_t i = 0; i < n; ++i) out[i] = weight[i] * (x[i] * scale);
}

void layer_norm(const float* x, const float* weight, const float* bias, float epsilon, size_t n,
                float* out) {
  double sum = 0.0;
  for (size_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  const auto mean = static_cast<float>(sum / static_cast<double>(n));
  double squares = 0.0;
  for (size_t i = 0; i < n; ++i) {
    const auto difference = static_cast<double>(x[i] - mean);
    squares += difference * difference;
  }
  const auto variance = static_cast<float>(squares / static_cast<double>(n));
  const float scale = element::inverse_root(variance + epsilon);
  for (size_t i = 0; i < n; ++i) {
    out[i] = weight[i] * ((x[i] - mean) * scale) + (bias == nullptr ? 0.0f : bias[i]);
  }
}

void add_scaled(float* x, const float* y, float factor, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] += factor * y[i];
}

void multiply_elements(float* x, const float* y, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] *= y[i];
}

void silu(float* x, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] = element::silu(x[i]);
}

void sigmoid_multiply(float* x, const float* gate, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] /= 1.0f + exponential::exp(-gate[i]);
}

void silu_multiply(float* gate, const float* up, size_t n) {
  for (size_t i = 0; i < n; ++i) gate[i] = element::silu(gate[i]) * up[i];
}

void gelu_multiply(float* gate, const float* up, size_t n) {
  for (size_t i = 0; i < n; ++i) gate[i] = element::gelu(gate[i]) * up[i];
}

void gelu(float* x, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] = element::gelu(x[i]);
}

void relu_squared(float* x, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] = element::relu_squared(x[i]);
}

void xielu(float* x, const Xielu& shape, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] = element::xielu(x[i], shape);
}

void softcap(float* x, float cap, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] = element::softcap(x[i], cap);
}

float largest(const float* x, size_t n) {
  float most = x[0];
  float odd = 0.0f;  // 0 times a number that is not finite is NaN
  for (size_t i = 0; i < n; ++i) {
    most = x[i] > most ? x[i] : most;
    odd += x[i] * 0.0f;
  }
  return most + odd;
}

void rope_interleaved(float* x, const float* cosines, const float* sines, size_t n_pairs) {
  for (size_t i = 0; i < n_pairs; ++i) {
    element::rotate(x[2 * i], x[2 * i + 1], cosines[i], sines[i]);
  }
}

void rope_halves(float* x, const float* cosines, const float* sines, size_t n_pairs) {
  for (size_t i = 0; i < n_pairs; ++i) {
    element::rotate(x[i], x[i + n_pairs], cosines[i], sines[i]);
  }
}

}  // namespace

const KernelSet& scalar_kernels() {
  static const KernelSet kernels = [] {
    KernelSet set{.name = "scalar",
                  .matmul = {},
                  .activation_block_bytes = sizeof(ActivationBlock<Numbers>),
                  .quantize = quantize,
                  .tabulate = tabulate,
                  .rms_norm = rms_norm,
                  .layer_norm = layer_norm,
                  .add_scaled = add_scaled,
                  .multiply = multiply_elements,
                  .convolve = scalar_convolve,
                  .delta_rule = scalar_delta_rule,
                  .state_space = scalar_state_space,
                  .silu = silu,
                  .sigmoid_multiply = sigmoid_multiply,
                  .silu_multiply = silu_multiply,
                  .gelu_multiply = gelu_multiply,
                  .gelu = gelu,
                  .relu_squared = relu_squared,
                  .xielu = xielu,
                  .softcap = softcap,
                  .rope_interleaved = rope_interleaved,
                  .rope_halves = rope_halves,
                  .softmax_part = scalar_softmax_part,
                  .largest = largest,
                  .quantize_query = scalar_quantize_query,
                  .attention = scalar_attention()};
    set.matmul.fill({multiply, ActivationFormat::f32, 1});
    return set;
  }();
  return kernels;
}

}  // namespace kinglet
