#include "session/language_model.h"

#include <string>
#include <utility>

#include "base/format.h"
#include "model/architecture.h"

namespace kinglet {

Result<const KernelSet*> choose_kernels(std::string_view name) {
  if (name.empty()) return available_kernels().front();
  if (const KernelSet* kernels = find_kernels(name)) return kernels;
  std::string names;
  for (const KernelSet* kernels : available_kernels()) {
    names += cat(names.empty() ? "" : ", ", kernels->name);
  }
  return Error{
      ErrorCode::invalid_argument,
      cat("kernels \"", name, "\" are not available on this machine (available: ", names, ")")};
}

Result<LanguageModel> load_language_model(GgufFile file, std::string_view kernels) {
  KINGLET_ASSIGN(const KernelSet* chosen, choose_kernels(kernels));
  return load_language_model(std::move(file), *chosen);
}

WeightFill* PreparedModel::bind(GgufFile& file) {
  weights.emplace(bind_weights(file, *kernels));
  return weights->ok() ? &weights->value().fill : nullptr;
}

void PreparedModel::read(const GgufHeader& header) {
  tokenizer.emplace(Tokenizer::from_gguf(header));
}

Result<LanguageModel> load_language_model(GgufFile file, PreparedModel prepared) {
  if (!prepared.tokenizer) prepared.read(file.header());
  if (!prepared.tokenizer->ok()) {
    // If the file is not a text model at all, that error says more than the missing tokenizer.
    KINGLET_TRY(find_architecture(file.header()));
    return prepared.tokenizer->error();
  }
  auto tokenizer = std::move(prepared.tokenizer->value());
  if (!prepared.weights) prepared.bind(file);
  KINGLET_ASSIGN(Model model,
                 Model::load(std::move(file), *prepared.kernels, std::move(*prepared.weights)));
  if (model.has_weights() &&
      static_cast<uint32_t>(tokenizer->n_tokens()) > model.config().vocab_size) {
    return Error{ErrorCode::corrupt, cat("the vocabulary has ", tokenizer->n_tokens(),
                                         " tokens, but token_embd.weight has only ",
                                         model.config().vocab_size, " rows")};
  }
  return LanguageModel{std::move(model), std::move(tokenizer)};
}

}  // namespace kinglet
