// Generates shell completions and the manual page from the program's options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kinglet::cli {

std::vector<const CLI::App*> commands_of(const CLI::App& app);

// The options of a command, without its positional arguments.
std::vector<const CLI::Option*> options_of(const CLI::App& command);

// All ways to write an option: "-m", "--model".
std::vector<std::string> spellings(const CLI::Option& option);

// Returns a script for "bash", "zsh" or "fish" that completes commands and options. Errors:
// invalid_argument (another shell).
Result<std::string> completions(const CLI::App& app, std::string_view shell);

// Returns the page for man(1), in the macros of man(7).
std::string manual_page(const CLI::App& app);

}  // namespace kinglet::cli
