// Finds marks and white space in a text that is still being written.
#pragma once

#include <algorithm>
#include <string_view>

namespace kinglet {

// Returns how many bytes at the end of `text` may be the beginning of `mark`.
inline size_t unfinished_mark(std::string_view text, std::string_view mark) {
  if (mark.empty()) return 0;
  size_t n = std::min(mark.size() - 1, text.size());
  while (n > 0 && !mark.starts_with(text.substr(text.size() - n))) --n;
  return n;
}

constexpr bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

inline std::string_view without_leading_space(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return text;
}

inline std::string_view without_trailing_space(std::string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace kinglet
