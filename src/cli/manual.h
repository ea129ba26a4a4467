// What can be generated from the program's options: completions of shells, and its manual page.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kinglet::cli {

// A script for "bash", "zsh" or "fish" that completes commands and options.
// ErrorCode::invalid_argument for other shells.
Result<std::string> completions(const CLI::App& app, std::string_view shell);

// The page for man(1), in the language of man(7).
std::string manual_page(const CLI::App& app);

}  // namespace kinglet::cli
