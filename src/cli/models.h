// Models of the hub that are stored in a folder of this machine.
#pragma once

#include <string>

#include "base/result.h"

namespace kinglet::cli {

// Returns the path of a model: of a hub address, the file that was pulled; of a path, the path
// itself. Errors: io (the file is not there; the message says how to pull it).
Result<std::string> model_path(const std::string& model);

// Downloads the file at an address of the hub, and all parts of a split model. Continues an earlier
// download that did not finish. Deletes a file whose SHA-256 is not the one that the hub reports.
Status pull(const std::string& address);

// Prints the stored models: address, size, and whether the download is not complete.
Status list_models();

// Deletes the files of an address, complete or not. Errors: io (there is no such file).
Status remove_model(const std::string& address);

}  // namespace kinglet::cli
