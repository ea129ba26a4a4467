// Collects an importance matrix while a sequence computes a text.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "gguf/header.h"
#include "gguf/importance.h"
#include "model/projection.h"

namespace kinglet {

class ImportanceCollector final : public InputObserver {
 public:
  // `header`: of the model's file, which must outlive the collector.
  explicit ImportanceCollector(const GgufHeader& header) : header_(header) {}

  void see(const Linear& weights, const float* x, size_t n_rows) override;

  // What was collected, without datasets and chunks. ErrorCode::not_finite names a tensor whose
  // activations are NaN or infinite.
  Result<ImportanceMatrix> finish();

 private:
  const GgufHeader& header_;
  ImportanceMatrix matrix_;
};

}  // namespace kinglet
