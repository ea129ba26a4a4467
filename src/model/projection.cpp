#include "model/projection.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"

namespace kinglet {
namespace {

// Quantized rows are padded to whole blocks of every format.
constexpr uint64_t kRowStep = 256;

size_t padded_rows(const Projection& projection) {
  return static_cast<size_t>(round_up(projection.n_rows(), kPartGrain));
}

// Whether a file has matrices that are multiplied by looking up sums.
bool needs_tables(const GgufHeader& header, const KernelSet& kernels) {
  return std::any_of(header.tensors.begin(), header.tensors.end(), [&](const TensorInfo& tensor) {
    return matmul_kernel(kernels, tensor.type).activations == ActivationFormat::tables;
  });
}

// Whether a file has matrices whose input has bounds.
bool has_input_bounds(const GgufHeader& header) {
  return std::any_of(header.tensors.begin(), header.tensors.end(), [](const TensorInfo& tensor) {
    return tensor.name.ends_with(kInputBounds[0]) || tensor.name.ends_with(kInputBounds[1]);
  });
}

// y [n] = x within the bounds; y may be x.
void apply(const Bounds& bounds, const float* x, size_t n, float* y) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float least = bounds.least == nullptr ? -kInfinity : *bounds.least;
  const float most = bounds.most == nullptr ? kInfinity : *bounds.most;
  for (size_t i = 0; i < n; ++i) y[i] = std::min(std::max(x[i], least), most);
}

// Multiplies by rows [from, to) of a matrix, and applies its scale, its bounds and its biases.
void multiply(const KernelSet& kernels, const Projection& projection, const Activations& x,
              size_t n_rows, size_t from, size_t to) {
  const Linear& weights = *projection.weights;
  const PackedMatrix& matrix = weights.matrix;
  const float* const scale = weights.scale;
  const float* const bias = weights.bias;
  multiply_rows(kernels, matrix, x, n_rows, projection.y, matrix.n_rows, from, to);
  if (scale != nullptr) {
    for (size_t t = 0; t < n_rows; ++t) {
      for (size_t i = from; i < to; ++i) projection.y[t * matrix.n_rows + i] *= *scale;
    }
  }
  for (size_t t = 0; weights.output.exist() && t < n_rows; ++t) {
    float* const y = projection.y + t * matrix.n_rows + from;
    apply(weights.output, y, to - from, y);
  }
  if (bias == nullptr) return;
  for (size_t t = 0; t < n_rows; ++t) {
    kernels.add_scaled(projection.y + t * matrix.n_rows + from, bias + from, 1.0f, to - from);
  }
}

// As project_rows(), for inputs without bounds.
void multiply_all(const KernelSet& kernels, ThreadPool& pool, const ProjectionScratch& scratch,
                  const float* x, size_t n_rows, std::initializer_list<Projection> projections) {
  if (scratch.observer != nullptr) {
    for (const Projection& projection : projections) {
      if (projection.weights->tensor.empty()) continue;
      scratch.observer->see(*projection.weights, x, n_rows);
    }
  }
  const size_t n_columns = projections.begin()->weights->matrix.n_columns;
  const Activations activations{x, n_columns, scratch.activations, scratch.tables,
                                scratch.negative_sums};
  // Each format includes those before it.
  auto format = ActivationFormat::f32;
  for (const Projection& projection : projections) {
    const DType type = projection.weights->matrix.type;
    format = std::max(format, matmul_kernel(kernels, type).activations);
  }
  if (format != ActivationFormat::f32) {
    const auto prepare = [&](size_t begin, size_t end, size_t /*thread*/) {
      for (size_t t = begin; t < end; ++t) prepare_activations(kernels, format, activations, t);
    };
    // For a single row, waking other threads takes longer than the work.
    if (n_rows == 1) {
      prepare(0, 1, 0);
    } else {
      pool.for_range(n_rows, 1, prepare);
    }
  }
  // The range has the rows of all matrices, one matrix after the other. The rows of each matrix are
  // rounded up to whole grains.
  size_t n_padded = 0;
  for (const Projection& projection : projections) n_padded += padded_rows(projection);
  pool.for_range(n_padded, kPartGrain, [&](size_t begin, size_t end, size_t) {
    size_t first = 0;
    for (const Projection& projection : projections) {
      const size_t width = projection.n_rows();
      const size_t from = std::clamp(begin, first, first + width) - first;
      const size_t to = std::clamp(end, first, first + width) - first;
      if (from < to) multiply(kernels, projection, activations, n_rows, from, to);
      first += padded_rows(projection);
    }
  });
}

}  // namespace

ProjectionScratch ProjectionScratch::take(Arena& arena, const KernelSet& kernels, uint64_t n_rows,
                                          uint64_t width, const GgufHeader& header) {
  const uint64_t n = n_rows * round_up(width, kRowStep);
  const uint64_t tabulated = needs_tables(header, kernels) ? n : 0;
  ProjectionScratch scratch;
  scratch.activations =
      arena.take<std::byte>(n / kActivationBlock * kernels.activation_block_bytes);
  scratch.tables = arena.take<SumTable>(tabulated / kTableColumns);
  scratch.negative_sums = arena.take<int32_t>(tabulated / kActivationBlock);
  scratch.bounded = arena.take<float>(has_input_bounds(header) ? n : 0);
  return scratch;
}

void project_rows(const KernelSet& kernels, ThreadPool& pool, const ProjectionScratch& scratch,
                  const float* x, size_t n_rows, std::initializer_list<Projection> projections) {
  const bool is_bounded =
      std::any_of(projections.begin(), projections.end(),
                  [](const Projection& one) { return one.weights->input.exist(); });
  if (!is_bounded) return multiply_all(kernels, pool, scratch, x, n_rows, projections);
  // Each matrix has bounds of its own, and so reads its own numbers.
  for (const Projection& one : projections) {
    const size_t width = one.weights->matrix.n_columns;
    pool.for_range(n_rows, 1, [&](size_t begin, size_t end, size_t) {
      apply(one.weights->input, x + begin * width, (end - begin) * width,
            scratch.bounded + begin * width);
    });
    multiply_all(kernels, pool, scratch, scratch.bounded, n_rows, {one});
  }
}

}  // namespace kinglet
