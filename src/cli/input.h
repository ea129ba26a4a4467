// Reading standard input, and what comes from outside as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kinglet::cli {

// All of standard input.
std::string read_input();

// All of a file. ErrorCode::io.
Result<std::string> read_text_file(const std::string& path);

// The parts of `text` that end with NUL, the last one also without; one empty part where it is
// empty.
std::vector<std::string_view> split_at_nul(std::string_view text);

// Text in another encoding would be continued as noise: ErrorCode::invalid_argument says where
// `text`, called `name`, is not UTF-8.
Status check_utf8(std::string_view name, std::string_view text);

}  // namespace kinglet::cli
