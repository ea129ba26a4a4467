// SentencePiece files spell a space as U+2581.
#pragma once

#include <string>
#include <string_view>

namespace kinglet {

// Appends `spelled` with every U+2581 replaced by a space.
inline void append_unescaped(std::string_view spelled, std::string& bytes) {
  constexpr std::string_view kSpelledSpace = "\u2581";
  for (size_t at = 0; at < spelled.size();) {
    const size_t space = spelled.find(kSpelledSpace, at);
    bytes += spelled.substr(at, space - at);
    if (space == std::string_view::npos) break;
    bytes += ' ';
    at = space + kSpelledSpace.size();
  }
}

}  // namespace kinglet
