// A model and its tokenizer, as one file holds them.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "gguf/file.h"
#include "model/model.h"
#include "session/preparation.h"
#include "text/tokenizer.h"

namespace kinglet {

struct LanguageModel {
  Model model;
  std::unique_ptr<Tokenizer> tokenizer;
};

// Returns the kernel set of that name, or the fastest one for "". ErrorCode::invalid_argument if
// this machine has no set of that name.
Result<const KernelSet*> choose_kernels(std::string_view name);

// `prepared`: what was done while the file arrived. Errors: those of Tokenizer::from_gguf and
// Model::load; corrupt (more tokens than embeddings).
Result<LanguageModel> load_language_model(GgufFile file, const KernelSet& kernels,
                                          Prepared prepared = {});

// The same with choose_kernels(kernels).
Result<LanguageModel> load_language_model(GgufFile file, std::string_view kernels = "");

}  // namespace kinglet
