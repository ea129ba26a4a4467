// Building messages without <format> (absent from the oldest libc++ we build with) or iostreams
// (100 KB of wasm).
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace kinglet {

// Appends the number rounded to thousandths: 0.25, -3, 1.5e+30, nan. printf would add 7 KB to the
// wasm.
void append(std::string& out, double number);
void append(std::string& out, int64_t number);
void append(std::string& out, uint64_t number);
inline void append(std::string& out, const std::string& text) { out += text; }
inline void append(std::string& out, std::string_view text) { out += text; }
inline void append(std::string& out, const char* text) { out += text; }
inline void append(std::string& out, char c) { out += c; }

// Returns the last n_digits of the number in hexadecimal.
std::string hexadecimal(uint64_t number, int n_digits = 16);

namespace format_detail {

// Converts parts to a few types only, so that different messages share code.
constexpr const char* part(const char* text) { return text; }
// NOLINTBEGIN(bugprone-return-const-ref-from-parameter): of cat()'s arguments, which outlive it.
constexpr const std::string_view& part(const std::string_view& text) { return text; }
inline const std::string& part(const std::string& text) { return text; }
// NOLINTEND(bugprone-return-const-ref-from-parameter)
constexpr char part(char c) { return c; }
constexpr double part(double number) { return number; }
constexpr int64_t part(std::signed_integral auto number) { return number; }
constexpr uint64_t part(std::unsigned_integral auto number) { return number; }

template <class... Parts>
[[gnu::noinline]] std::string join(Parts... parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

}  // namespace format_detail

// Concatenates strings, characters and numbers: cat("found ", n, " tensors").
template <class... Parts>
[[gnu::always_inline]] inline std::string cat(const Parts&... parts) {
  return format_detail::join<decltype(format_detail::part(parts))...>(
      format_detail::part(parts)...);
}

}  // namespace kinglet
