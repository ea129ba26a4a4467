// A search index for JavaScript.
#pragma once

#include <memory>

#include "answers/runner.h"
#include "session/language_model.h"
#include "wasm/values.h"

namespace kinglet {

// `options`: EngineIndexOptions. Returns an EngineIndex.
val new_index(std::shared_ptr<const LanguageModel> loaded, std::shared_ptr<Runner> runner,
              const val& options);

}  // namespace kinglet
