// Generates shell completions and the manual page from the program's options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kinglet::cli {

// Returns a script for "bash", "zsh" or "fish" that completes commands and options. Errors:
// invalid_argument (another shell).
Result<std::string> completions(const CLI::App& app, std::string_view shell);

// Returns the page for man(1), in the macros of man(7).
std::string manual_page(const CLI::App& app);

}  // namespace kinglet::cli
