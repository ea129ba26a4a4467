// Reads standard input and text files, and checks text from outside.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/json.h"

namespace kinglet::cli {

// Returns all of standard input.
std::string read_input();

// Returns the next line of standard input, without its end; nullopt if there is none.
std::optional<std::string> read_input_line();

// Returns all of a file. Errors: io; invalid_argument (the file is too large).
Result<std::string> read_file(const std::string& path);

// The same for a text in UTF-8. Errors: also invalid_argument.
Result<std::string> read_text_file(const std::string& path);

// The same for a text that must not be empty. Errors: also invalid_argument.
Result<std::string> read_filled_file(const std::string& path);

// Returns the JSON in a file. Errors: io; invalid_argument (names the file, and the place in it).
Result<Json> read_json_file(const std::string& path);

// Splits `text` into parts that end with NUL; the NUL of the last part may be missing. An empty
// text is one empty part.
std::vector<std::string_view> split_at_nul(std::string_view text);

// Checks that a text is UTF-8: a model would continue another encoding as noise. Errors:
// invalid_argument (names `name` and the first byte that is wrong). Files and options are checked
// where they are read.
Status check_utf8(std::string_view name, std::string_view text);

}  // namespace kinglet::cli
