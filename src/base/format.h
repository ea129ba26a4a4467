// Building messages without <format> (absent from the oldest libc++ we build with) or iostreams
// (100 KB of wasm).
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace kinglet {

inline void append(std::string& out, std::string_view text) { out += text; }
inline void append(std::string& out, char c) { out += c; }

template <std::integral T>
void append(std::string& out, T number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

// Rounded to thousandths: 0.25, -3, 1.5e+30, nan. printf would add 7 KB to the wasm.
void append(std::string& out, double number);

// Concatenates strings, characters and numbers: cat("found ", n, " tensors").
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

}  // namespace kinglet
