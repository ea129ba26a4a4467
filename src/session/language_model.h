// A model and its tokenizer, as one file holds them.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "gguf/file.h"
#include "model/model.h"
#include "model/preparation.h"
#include "model/weights.h"
#include "text/tokenizer.h"

namespace kinglet {

struct LanguageModel {
  Model model;
  std::unique_ptr<Tokenizer> tokenizer;
};

// Returns the kernel set of that name, or the fastest one for "". ErrorCode::invalid_argument if
// this machine has no set of that name.
Result<const KernelSet*> choose_kernels(std::string_view name);

// The tokenizer and the weights, as far as they were made while the file arrived.
struct PreparedModel final : Preparable {
  explicit PreparedModel(const KernelSet& chosen) : kernels(&chosen) {}

  WeightFill* bind(GgufFile& file) override;
  void read(const GgufHeader& header) override;

  const KernelSet* kernels;
  std::optional<Result<std::unique_ptr<Tokenizer>>> tokenizer;
  std::optional<Result<BoundWeights>> weights;
};

// Errors: those of Tokenizer::from_gguf and Model::load; corrupt (more tokens than embeddings).
Result<LanguageModel> load_language_model(GgufFile file, PreparedModel prepared);

// The same with nothing prepared, and with choose_kernels(kernels).
inline Result<LanguageModel> load_language_model(GgufFile file, const KernelSet& kernels) {
  return load_language_model(std::move(file), PreparedModel(kernels));
}
Result<LanguageModel> load_language_model(GgufFile file, std::string_view kernels = "");

}  // namespace kinglet
