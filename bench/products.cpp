// Matrix products with this project's kernels. products.js calls them and measures the time.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/kernels.h"
#include "kernels/packing.h"
#include "tensor/quantizer.h"

namespace kinglet {
namespace {

struct Products {
  std::vector<AlignedBuffer> weights;
  std::vector<PackedMatrix> matrices;
  std::vector<float> x;
  std::vector<float> y;
  std::vector<std::byte> blocks;  // the quantized x
  size_t n_tokens = 0;
};

Products products;

const KernelSet& kernels() { return *available_kernels().front(); }

Status add_matrix(DType type, size_t n_rows, size_t n_columns) {
  const DTypeInfo& info = dtype_info(type);
  const size_t row_bytes = info.row_bytes(n_columns);
  KINGLET_ASSIGN(AlignedBuffer weights, AlignedBuffer::allocate(n_rows * row_bytes, "weights"));
  std::vector<float> row(n_columns);
  for (size_t i = 0; i < n_columns; ++i) row[i] = static_cast<float>(i * 37 % 101) - 50.0f;
  std::vector<std::byte> encoded(row_bytes);
  find_quantizer(type)(row.data(), encoded.data(), n_columns);
  for (size_t i = 0; i < n_rows; ++i) {
    std::copy(encoded.begin(), encoded.end(), weights.data() + i * row_bytes);
  }
  const TensorView tensor{"weights", type, {n_columns, n_rows, 1, 1}, weights.bytes()};
  KINGLET_ASSIGN(const PackedMatrix matrix, pack_in_place(tensor, kernels()));
  products.matrices.push_back(matrix);
  products.weights.push_back(std::move(weights));
  return {};
}

}  // namespace
}  // namespace kinglet

#define KINGLET_EXPORT(name) extern "C" __attribute__((export_name(#name)))

// Makes matrices [n_rows][n_columns] of 4 or 8 bits, and n_tokens rows to multiply with them.
// Returns 0 if memory is short.
KINGLET_EXPORT(prepare)
uint32_t products_prepare(uint32_t bits, size_t n_matrices, size_t n_rows, size_t n_columns,
                          size_t n_tokens) {
  using namespace kinglet;
  products = {};
  const DType type = bits == 4 ? DType::q4_0 : DType::q8_0;
  for (size_t i = 0; i < n_matrices; ++i) {
    if (!add_matrix(type, n_rows, n_columns).ok()) return 0;
  }
  products.n_tokens = n_tokens;
  products.x.assign(n_tokens * n_columns, 0.5f);
  products.y.resize(n_tokens * n_rows);
  products.blocks.resize(n_tokens * n_columns / kActivationBlock *
                         kernels().activation_block_bytes);
  return 1;
}

// Multiplies the rows with every matrix. Activations are quantized for each, as in other engines.
KINGLET_EXPORT(multiply) void products_multiply() {
  using namespace kinglet;
  for (const PackedMatrix& matrix : products.matrices) {
    const Activations x{.values = products.x.data(),
                        .n_columns = matrix.n_columns,
                        .blocks = products.blocks.data()};
    const ActivationFormat format = matmul_kernel(kernels(), matrix.type).activations;
    for (size_t t = 0; t < products.n_tokens; ++t) prepare_activations(kernels(), format, x, t);
    multiply_rows(kernels(), matrix, x, products.n_tokens, products.y.data(), matrix.n_rows, 0,
                  matrix.n_rows);
  }
}
