// Converts floats to decimals and back, exactly. The C library's functions for this would need
// twenty times as much code in a wasm module.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kinglet {

// Returns the shortest decimal that reads back as the same number, like Python's repr().
std::string number_text(double value);

// Returns the number with `n_decimals` decimals, like Python's "%.2f". Rounds the exact value.
std::string fixed_text(double value, size_t n_decimals);

// Returns one digit before the point, `n_decimals` after it, and an exponent, like Python's "%.2e".
std::string exponent_text(double value, size_t n_decimals);

// Returns the number with `n_digits` significant digits, like Python's "%.6g".
std::string general_text(double value, size_t n_digits);

// Reads a whole number of 64 bits; nullopt if the text is anything else.
std::optional<int64_t> read_whole(std::string_view text);

// Returns the number nearest to a decimal such as -1.5e+3; nullopt if the text is anything else.
std::optional<double> read_number(std::string_view text);

}  // namespace kinglet
