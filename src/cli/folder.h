// Folders in which the program stores files of its own.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kinglet::cli {

// Makes a folder, and those that it is in, if it does not exist. `path` is UTF-8. Errors: io.
Status make_folder(const std::string& path);

// Returns the files of a folder that have this extension (".x"), in order. Errors: io.
Result<std::vector<std::filesystem::path>> files_with_extension(const std::filesystem::path& folder,
                                                                std::string_view extension);

}  // namespace kinglet::cli
