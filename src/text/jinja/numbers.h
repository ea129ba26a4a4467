// Floats as decimals and back, exactly: what the C library has for it is twenty times the code in
// a wasm module.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kinglet::jinja {

// The shortest decimal that reads back as the same number, as repr() of Python.
std::string number_text(double value);

// With so many decimals, rounded as its exact value lies, as "%.2f" of Python.
std::string fixed_text(double value, size_t n_decimals);

// With one digit in front of the point and so many behind it, as "%.2e" of Python.
std::string exponent_text(double value, size_t n_decimals);

// So many digits that count, as "%.6g" of Python.
std::string general_text(double value, size_t n_digits);

// A whole number of 64 bits; nullopt where the text is anything else.
std::optional<int64_t> read_whole(std::string_view text);

// The nearest number to a decimal such as -1.5e+3; nullopt where the text is anything else.
std::optional<double> read_number(std::string_view text);

}  // namespace kinglet::jinja
