// Fixtures that are damaged in one place, and the errors that refuse them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "gguf/gguf_builder.h"
#include "model/model.h"
#include "model/tiny_model.h"
#include "support.h"

namespace kinglet {

// The offset of this text in a file, after the text's length.
inline size_t find_text(const Bytes& file, std::string_view text) {
  const auto same = [](std::byte a, char b) { return a == static_cast<std::byte>(b); };
  const auto at = std::search(file.begin(), file.end(), text.begin(), text.end(), same);
  EXPECT_NE(at, file.end()) << text;
  return static_cast<size_t>(at - file.begin());
}

inline void put(Bytes& file, size_t at, uint32_t value) {
  std::memcpy(&file[at], &value, sizeof value);
}

// Changes the value of a number, which follows its key and its type.
inline Bytes with_number(const char* fixture, std::string_view key, uint32_t value) {
  Bytes file = read_fixture(fixture);
  put(file, find_text(file, key) + key.size() + 4, value);
  return file;
}

// Changes an element of an array; the elements follow the key, two types and the length.
inline Bytes with_element(const char* fixture, std::string_view key, size_t i, uint32_t value) {
  Bytes file = read_fixture(fixture);
  put(file, find_text(file, key) + key.size() + 16 + 4 * i, value);
  return file;
}

// Renames a key or a tensor, so that it is missing.
inline Bytes without(const char* fixture, std::string_view name) {
  Bytes file = read_fixture(fixture);
  file[find_text(file, name) + name.size() - 1] = std::byte{'#'};
  return file;
}

inline Result<ModelConfig> load_config(const Bytes& bytes) {
  KINGLET_ASSIGN(const GgufFile file, load_gguf(bytes));
  return read_config(file.header());
}

inline void expect_error(const Bytes& bytes, ErrorCode code, const std::string& message) {
  auto file = load_gguf(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto model = Model::load(std::move(file.value()), scalar_kernels());
  ASSERT_FALSE(model.ok()) << "expected: " << message;
  EXPECT_EQ(error_code_name(model.error().code), error_code_name(code)) << model.error().message;
  EXPECT_NE(model.error().message.find(message), std::string::npos) << model.error().message;
}

}  // namespace kinglet
