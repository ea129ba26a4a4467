// Models of the hub in a folder of this machine.
#pragma once

#include <string>

#include "base/result.h"

namespace kinglet::cli {

// The path of what is given as a model: of an address of the hub that of the file that was pulled,
// of anything else itself. ErrorCode::io tells how to pull it.
Result<std::string> model_path(const std::string& model);

// Downloads what an address of the hub names, all parts of a split model, and goes on where an
// earlier try ended. A file whose SHA-256 or size is not what the hub says is deleted.
Status pull(const std::string& address);

// Prints the models that are there: address, size, time.
Status list_models();

// Deletes what an address names, finished or not. ErrorCode::io where there is no such file.
Status remove_model(const std::string& address);

}  // namespace kinglet::cli
