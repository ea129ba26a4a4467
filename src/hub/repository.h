// Chooses files of a repository on the Hugging Face hub, by their names. Source: the hub's
// documentation of its API (/api/models).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kinglet {

// Whether the path of a file ends in ".gguf", in letters of any case.
bool is_gguf_name(std::string_view path);

// Whether a path is harmless as a file's name and on a terminal: it stays in the folder that it is
// joined to, has no root, no drive or stream of Windows, and no character that controls a terminal.
bool is_plain_path(std::string_view path);

// Returns the paths of the files in the hub's listing, without those that are not plain.
// Errors: io (`json` is not such a listing).
Result<std::vector<std::string>> hub_paths(std::string_view json);

// Returns the path of the model of a weight type; of a split model the first part. Without a type,
// returns a file of a usual type, or the only file. Errors: not_found (no file matches, or several
// do; the message lists the files).
Result<std::string> pick_file(const std::vector<std::string>& paths, std::string_view type,
                              std::string_view repository);

// Returns the path of the mmproj file, which reads pictures for the repository's models. Without a
// type, returns a file of a usual type, or the only file. Errors: not_found.
Result<std::string> pick_reader(const std::vector<std::string>& paths, std::string_view type,
                                std::string_view repository);

}  // namespace kinglet
