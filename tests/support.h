// What all tests share: fixture files, and names of tests made from theirs.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#ifndef KINGLET_SOURCE_DIR
#define KINGLET_SOURCE_DIR "."
#endif

// Whether the tests are built with a sanitizer, which makes them slow and uses memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KINGLET_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KINGLET_SANITIZED 1
#endif
#endif

namespace kinglet {

inline std::string fixture_path(std::string_view name) {
  return std::string(KINGLET_SOURCE_DIR "/tests/fixtures/").append(name);
}

// The bytes of tests/fixtures/NAME; empty if the file cannot be read.
inline std::vector<std::byte> read_fixture(std::string_view name) {
  std::vector<std::byte> bytes;
  if (std::FILE* file = std::fopen(fixture_path(name).c_str(), "rb")) {
    std::fseek(file, 0, SEEK_END);
    bytes.resize(static_cast<size_t>(std::ftell(file)));
    std::rewind(file);
    if (std::fread(bytes.data(), 1, bytes.size(), file) != bytes.size()) bytes.clear();
    std::fclose(file);
  }
  return bytes;
}

inline std::string read_text_fixture(std::string_view name) {
  const std::vector<std::byte> bytes = read_fixture(name);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A name for a parametrized test: characters that GoogleTest does not allow become "_".
inline std::string test_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); },
      '_');
  return name;
}

}  // namespace kinglet
