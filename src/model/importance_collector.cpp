#include "model/importance_collector.h"

#include <cmath>
#include <utility>

#include "base/format.h"
#include "base/in_quotes.h"

namespace kinglet {

void ImportanceCollector::see(const Linear& weights, const float* x, size_t n_rows) {
  const size_t n_columns = weights.matrix.n_columns;
  auto found = matrix_.entries.find(weights.tensor);
  if (found == matrix_.entries.end()) {
    const auto n_matrices = static_cast<size_t>(header_.find_tensor(weights.tensor)->shape[2]);
    found = matrix_.entries.emplace(weights.tensor, ImportanceMatrix::Entry{}).first;
    found->second.sums.resize(n_matrices * n_columns);
    found->second.counts.resize(n_matrices);
  }
  float* const sums = found->second.sums.data() + weights.index * n_columns;
  for (size_t i = 0; i < n_columns; ++i) {
    double sum = 0;  // of a batch: floats would lose more of it
    for (size_t t = 0; t < n_rows; ++t) {
      const double activation = x[t * n_columns + i];
      sum += activation * activation;
    }
    sums[i] += static_cast<float>(sum);
  }
  found->second.counts[weights.index] += static_cast<float>(n_rows);
}

Result<ImportanceMatrix> ImportanceCollector::finish() {
  for (const auto& [name, entry] : matrix_.entries) {
    for (const float sum : entry.sums) {
      if (std::isfinite(sum)) continue;
      return Error{ErrorCode::not_finite,
                   cat("the squared activations of tensor ", in_quotes(name), " sum up to ", sum,
                       ": the model or its file is damaged")};
    }
  }
  return std::move(matrix_);
}

}  // namespace kinglet
