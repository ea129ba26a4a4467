// A model and its tokenizer, as one file holds them.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "gguf/file.h"
#include "model/model.h"
#include "text/tokenizer.h"

namespace kinglet {

struct LanguageModel {
  Model model;
  std::unique_ptr<Tokenizer> tokenizer;
};

// `kernels`: the name of a kernel set, or "" for the fastest. Errors: those of Tokenizer::from_gguf
// and Model::load; invalid_argument (unknown kernels), unsupported_architecture (an encoder),
// missing_tensor (a vocabulary only), corrupt (more tokens than embeddings).
Result<LanguageModel> load_language_model(GgufFile file, std::string_view kernels = "");

}  // namespace kinglet
