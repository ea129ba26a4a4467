// Every kernel set gives scalar's results, except for rounding.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/format.h"
#include "fuzz/input.h"
#include "kernels/packing.h"
#include "tensor/finite.h"

namespace kinglet::fuzz {
namespace {

constexpr uint32_t kMaxLength = 300;
constexpr uint32_t kMaxRows = 40;
constexpr uint32_t kMaxTokens = 6;
constexpr float kLargestWeight = 1000.0f;

bool are_near(const std::vector<float>& a, const std::vector<float>& b) {
  constexpr float kTolerance = 2e-4f;
  return std::equal(a.begin(), a.end(), b.begin(), [](float x, float y) {
    return std::fabs(x - y) <= kTolerance * std::max({std::fabs(x), std::fabs(y), 1.0f});
  });
}

// Runs f on a copy of x with each kernel set.
template <class F>
void compare(const std::vector<float>& x, std::string_view what, const F& f) {
  std::vector<float> expected = x;
  f(scalar_kernels(), expected);
  for (const KernelSet* kernels : available_kernels()) {
    std::vector<float> found = x;
    f(*kernels, found);
    if (!are_near(found, expected)) report(cat(kernels->name, ": ", what));
  }
}

void rows(Input& input) {
  const uint32_t function = input.up_to(9);
  const size_t n = 1 + input.up_to(kMaxLength);
  const std::vector<float> x = input.weights(n);
  const std::vector<float> y = input.weights(n);
  using Row = std::vector<float>;
  switch (function) {
    case 0:
      return compare(x, "rms_norm", [&](const KernelSet& k, Row& out) {
        k.rms_norm(out.data(), y.data(), 1e-2f, n, out.data());
      });
    case 1:
      return compare(x, "layer_norm", [&](const KernelSet& k, Row& out) {
        k.layer_norm(out.data(), y.data(), x.data(), 1e-2f, n, out.data());
      });
    case 2:
      return compare(x, "add_scaled", [&](const KernelSet& k, Row& out) {
        k.add_scaled(out.data(), y.data(), 0.75f, n);
      });
    case 3:
      return compare(x, "silu_multiply", [&](const KernelSet& k, Row& out) {
        k.silu_multiply(out.data(), y.data(), n);
      });
    case 4:
      return compare(x, "gelu_multiply", [&](const KernelSet& k, Row& out) {
        k.gelu_multiply(out.data(), y.data(), n);
      });
    case 5:
      return compare(x, "softcap",
                     [&](const KernelSet& k, Row& out) { k.softcap(out.data(), 5.0f, n); });
    case 6:
      return compare(x, "rope_halves", [&](const KernelSet& k, Row& out) {
        k.rope_halves(out.data(), y.data(), y.data() + n / 2, n / 2);
      });
    case 7:
      return compare(x, "relu_squared",
                     [&](const KernelSet& k, Row& out) { k.relu_squared(out.data(), n); });
    case 8:
      return compare(x, "xielu", [&](const KernelSet& k, Row& out) {
        k.xielu(out.data(), {0.7f, 1.6f, 0.5f, -0.1f}, n);
      });
    default:
      return compare(x, "rope_interleaved", [&](const KernelSet& k, Row& out) {
        k.rope_interleaved(out.data(), y.data(), y.data() + n / 2, n / 2);
      });
  }
}

// Activations, with room for their quantized form.
struct Batch {
  std::vector<float> values;
  size_t n_columns;
  std::vector<std::byte> blocks;
  std::vector<SumTable> tables = std::vector<SumTable>(values.size() / kTableColumns + 1);
  std::vector<int32_t> negative_sums = std::vector<int32_t>(values.size() / kActivationBlock + 1);

  Batch(const KernelSet& kernels, std::vector<float> rows, size_t width)
      : values(std::move(rows)),
        n_columns(width),
        blocks(values.size() / kActivationBlock * kernels.activation_block_bytes) {}

  Activations view() {
    return {values.data(), n_columns, blocks.data(), tables.data(), negative_sums.data()};
  }
};

std::vector<float> multiply(const KernelSet& kernels, const DTypeInfo& type,
                            std::vector<std::byte> blocks, size_t n_rows, size_t n_columns,
                            const std::vector<float>& x, size_t n_tokens) {
  const auto w = pack_in_place({"w", type.type, {n_columns, n_rows, 1, 1}, blocks}, kernels);
  check(w.ok(), "rows cannot be packed");
  Batch batch(kernels, x, n_columns);
  const Activations activations = batch.view();
  const ActivationFormat format = matmul_kernel(kernels, type.type).activations;
  for (size_t t = 0; t < n_tokens; ++t) prepare_activations(kernels, format, activations, t);
  std::vector<float> y(n_tokens * n_rows, NAN);
  multiply_rows(kernels, w.value(), activations, n_tokens, y.data(), n_rows, 0, n_rows);
  return y;
}

// The blocks' bytes from the input; blocks with weights that are not finite or too large are zeros.
std::vector<std::byte> ordinary_blocks(Input& input, const DTypeInfo& type, size_t n_blocks) {
  std::vector<std::byte> blocks(n_blocks * type.block_bytes);
  std::vector<float> weights(type.block_size);
  for (size_t i = 0; i < n_blocks; ++i) {
    std::byte* block = blocks.data() + i * type.block_bytes;
    const Bytes bytes = input.take(type.block_bytes);
    if (bytes.empty()) break;
    std::memcpy(block, bytes.data(), bytes.size());
    type.dequantize(block, weights.data(), type.block_size);
    const bool finite = !find_not_finite(type.type, {block, type.block_bytes}).has_value();
    const bool ordinary = finite && std::all_of(weights.begin(), weights.end(), [](float w) {
                            return std::fabs(w) < kLargestWeight;
                          });
    if (!ordinary) std::memset(block, 0, type.block_bytes);
  }
  return blocks;
}

// Multiplies whole numbers, with a 127 in each block, which 8-bit codes represent exactly.
void products(Input& input) {
  const DTypeInfo& type =
      dtypes_in_memory()[input.up_to(static_cast<uint32_t>(dtypes_in_memory().size() - 1))];
  const size_t n_rows = 1 + input.up_to(kMaxRows - 1);
  const size_t n_tokens = 1 + input.up_to(kMaxTokens - 1);
  const size_t n_row_blocks = 1 + input.up_to(type.block_size == 1 ? kMaxLength : 2);
  const size_t n_columns = n_row_blocks * type.block_size;
  std::vector<float> x(n_tokens * n_columns);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = i % kActivationBlock == 0
               ? 127.0f
               : static_cast<float>(std::max<int>(-127, input.number<int8_t>()));
  }
  const auto blocks = ordinary_blocks(input, type, n_rows * n_row_blocks);

  std::vector<float> w(n_rows * n_columns);
  type.dequantize(blocks.data(), w.data(), w.size());
  for (const KernelSet* kernels : available_kernels()) {
    const auto y = multiply(*kernels, type, blocks, n_rows, n_columns, x, n_tokens);
    for (size_t i = 0; i < y.size(); ++i) {
      const float* row = w.data() + i % n_rows * n_columns;
      const float* values = x.data() + i / n_rows * n_columns;
      double sum = 0;
      double magnitude = 0;
      for (size_t j = 0; j < n_columns; ++j) {
        const double product = static_cast<double>(row[j]) * static_cast<double>(values[j]);
        sum += product;
        magnitude += std::fabs(product);
      }
      if (!(std::fabs(static_cast<double>(y[i]) - sum) <= 1e-5 * magnitude + 1e-5)) {
        report(cat(kernels->name, ": products of ", type.name));
      }
    }
  }
}

}  // namespace

void kernels(Bytes bytes) {
  Input input(bytes);
  if (input.flag()) {
    products(input);
  } else {
    rows(input);
  }
}

}  // namespace kinglet::fuzz
