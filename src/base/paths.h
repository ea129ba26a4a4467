// Converts between std::filesystem paths and UTF-8, on every system.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace kinglet {

inline std::filesystem::path to_path(std::string_view utf8) {
  return std::u8string(utf8.begin(), utf8.end());
}

inline std::string to_utf8(const std::filesystem::path& path) {
  const std::u8string text = path.u8string();
  return {text.begin(), text.end()};
}

}  // namespace kinglet
