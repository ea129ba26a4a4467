// ASCII letters, digits and decimal numbers, independent of the locale, and names among others.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace kinglet {

constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool is_letter(char c) { return to_lower(c) >= 'a' && to_lower(c) <= 'z'; }

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::string_view kHexDigits = "0123456789abcdef";

// Returns the value of a hexadecimal digit; nullopt for any other character.
constexpr std::optional<unsigned> hex_digit(char c) {
  const size_t digit = kHexDigits.find(to_lower(c));
  if (digit == kHexDigits.npos) return std::nullopt;
  return static_cast<unsigned>(digit);
}

// Returns the number that the whole of `text` writes in decimal; nullopt if it is none, or none
// that Number can hold.
template <class Number>
std::optional<Number> parse_decimal(std::string_view text) {
  Number number = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [read_end, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || read_end != end) return std::nullopt;
  return number;
}

// Whether one of the texts in `list` is `text`.
constexpr bool is_among(std::string_view text, const auto& list) {
  for (const std::string_view one : list) {
    if (one == text) return true;
  }
  return false;
}

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (to_lower(a[i]) != to_lower(b[i])) return false;
  }
  return true;
}

}  // namespace kinglet
