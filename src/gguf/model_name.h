// What people call a model.
#pragma once

#include <string>
#include <string_view>

#include "gguf/header.h"

namespace kinglet {

// Returns general.name, or, where that is missing or comes from a training run, the name of the
// file without ".gguf" and the number of its part. `path`: of the file; empty if it has no name. A
// file whose name says no more ("model.gguf") leaves the model its general.name.
std::string model_name(const GgufHeader& header, std::string_view path);

}  // namespace kinglet
