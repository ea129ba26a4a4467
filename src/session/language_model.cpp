#include "session/language_model.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/format.h"
#include "base/quoted.h"

namespace kinglet {
namespace {

// Told apart from what is merely unknown: people load these by mistake.
Status refuse_encoder(const GgufHeader& header) {
  constexpr std::string_view kEncoders[] = {
      "bert",         "nomic-bert",   "nomic-bert-moe",  "neo-bert",  "modern-bert", "eurobert",
      "jina-bert-v2", "jina-bert-v3", "gemma-embedding", "t5encoder", "llama-embed", "clip"};
  KINGLET_ASSIGN(const std::string_view name, header.get_string("general.architecture", ""));
  if (std::find(std::begin(kEncoders), std::end(kEncoders), name) != std::end(kEncoders)) {
    return Error{ErrorCode::unsupported_architecture,
                 cat("architecture ", quoted(name),
                     " is an encoder: it makes vectors of a text, and no text")};
  }
  return {};
}

}  // namespace

Result<const KernelSet*> choose_kernels(std::string_view name) {
  if (name.empty()) return available_kernels().front();
  if (const KernelSet* kernels = find_kernels(name)) return kernels;
  std::string names;
  for (const KernelSet* kernels : available_kernels()) {
    names += cat(names.empty() ? "" : ", ", kernels->name);
  }
  return Error{ErrorCode::invalid_argument,
               cat("kernels \"", name, "\" cannot run here (available: ", names, ")")};
}

Result<LanguageModel> load_language_model(GgufFile file, std::string_view kernels) {
  KINGLET_ASSIGN(const KernelSet* chosen, choose_kernels(kernels));
  return load_language_model(std::move(file), *chosen);
}

Result<LanguageModel> load_language_model(GgufFile file, const KernelSet& kernels,
                                          Prepared prepared) {
  KINGLET_TRY(refuse_encoder(file.header()));
  if (!prepared.tokenizer) prepared.tokenizer.emplace(Tokenizer::from_gguf(file.header()));
  KINGLET_ASSIGN(auto tokenizer, std::move(*prepared.tokenizer));
  KINGLET_ASSIGN(Model model, Model::load(std::move(file), kernels, &prepared.weights));
  if (model.has_weights()) KINGLET_TRY(check_makes_text(model.config()));
  if (model.has_weights() &&
      static_cast<uint32_t>(tokenizer->n_tokens()) > model.config().vocab_size) {
    return Error{ErrorCode::corrupt,
                 cat("the vocabulary has ", tokenizer->n_tokens(),
                     " tokens, but token_embd.weight only ", model.config().vocab_size, " rows")};
  }
  return LanguageModel{std::move(model), std::move(tokenizer)};
}

}  // namespace kinglet
