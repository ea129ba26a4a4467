// Writes GGUF files in memory: valid ones and, with the _raw functions, invalid ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "gguf/header.h"

namespace kinglet {

using Bytes = std::vector<std::byte>;

// Not inlined: otherwise GCC 12 assumes an insertion into a buffer without memory.
[[gnu::noinline]] inline void append_bytes(Bytes& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// Appends a number as a file stores it.
template <class T>
void append_number(Bytes& out, T value) {
  static_assert(std::is_arithmetic_v<T>);
  append_bytes(out, std::as_bytes(std::span(&value, 1)));
}

inline void append_string(Bytes& out, std::string_view text) {
  append_number<uint64_t>(out, text.size());
  append_bytes(out, std::as_bytes(std::span<const char>(text)));
}

// The value type that stores a T.
template <class T>
constexpr ValueType value_type_of() {
  if constexpr (std::is_same_v<T, bool>) return ValueType::boolean;
  if constexpr (std::is_same_v<T, uint8_t>) return ValueType::uint8;
  if constexpr (std::is_same_v<T, int8_t>) return ValueType::int8;
  if constexpr (std::is_same_v<T, uint16_t>) return ValueType::uint16;
  if constexpr (std::is_same_v<T, int16_t>) return ValueType::int16;
  if constexpr (std::is_same_v<T, uint32_t>) return ValueType::uint32;
  if constexpr (std::is_same_v<T, int32_t>) return ValueType::int32;
  if constexpr (std::is_same_v<T, uint64_t>) return ValueType::uint64;
  if constexpr (std::is_same_v<T, int64_t>) return ValueType::int64;
  if constexpr (std::is_same_v<T, float>) return ValueType::float32;
  if constexpr (std::is_same_v<T, double>) return ValueType::float64;
  if constexpr (std::is_convertible_v<T, std::string_view>) return ValueType::string;
}

template <class T>
void append_value(Bytes& out, const T& value) {
  if constexpr (value_type_of<T>() == ValueType::string) {
    append_string(out, value);
  } else if constexpr (std::is_same_v<T, bool>) {
    append_number<uint8_t>(out, value ? 1 : 0);
  } else {
    append_number(out, value);
  }
}

class GgufBuilder {
 public:
  explicit GgufBuilder(uint32_t version = 3) : version_(version) {}

  // Sets a value; its C++ type selects the value type: set<uint8_t>("k", 1).
  template <class T>
  GgufBuilder& set(std::string_view key, const T& value) {
    Bytes bytes;
    append_value(bytes, value);
    return set_raw(key, static_cast<uint32_t>(value_type_of<T>()), bytes);
  }
  GgufBuilder& set(std::string_view key, const char* text) {
    return set(key, std::string_view(text));
  }
  GgufBuilder& set_uint32(std::string_view key, uint32_t value) { return set(key, value); }
  GgufBuilder& set_float32(std::string_view key, float value) { return set(key, value); }
  GgufBuilder& set_bool(std::string_view key, bool value) { return set(key, value); }

  template <class T>
  GgufBuilder& set_array(std::string_view key, const std::vector<T>& values) {
    return set_raw(key, static_cast<uint32_t>(ValueType::array), array_bytes(values));
  }

  // Returns an array as a file stores it: element type, size, elements.
  template <class T>
  static Bytes array_bytes(const std::vector<T>& values) {
    Bytes bytes;
    append_number(bytes, static_cast<uint32_t>(value_type_of<T>()));
    append_number<uint64_t>(bytes, values.size());
    for (const T& value : values) append_value<T>(bytes, value);
    return bytes;
  }

  // Sets an array of flags, which take one byte each: 0 is false, 1 is true.
  GgufBuilder& set_bools(std::string_view key, const std::vector<uint8_t>& flags) {
    Bytes bytes = array_bytes(flags);
    bytes[0] = static_cast<std::byte>(ValueType::boolean);  // not uint8
    return set_raw(key, static_cast<uint32_t>(ValueType::array), bytes);
  }
  GgufBuilder& set_raw(std::string_view key, uint32_t type, std::span<const std::byte> value) {
    append_string(metadata_, key);
    append_number(metadata_, type);
    append_bytes(metadata_, value);
    ++n_metadata_;
    return *this;
  }

  // Writes general.alignment and uses it. Call this before the first tensor is added.
  GgufBuilder& set_alignment(uint32_t alignment) {
    alignment_ = alignment;
    return set_uint32("general.alignment", alignment);
  }

  // Adds a tensor after the earlier ones; `dims`: 1 to 4 of them, innermost first.
  GgufBuilder& add_tensor(std::string_view name, DType type, const std::vector<uint64_t>& dims,
                          std::span<const std::byte> bytes) {
    add_tensor_raw(name, static_cast<uint32_t>(type), dims, data_.size());
    append_bytes(data_, bytes);
    pad(data_);
    return *this;
  }
  GgufBuilder& add_f32(std::string_view name, const std::vector<uint64_t>& dims,
                       const std::vector<float>& values) {
    return add_tensor(name, DType::f32, dims, std::as_bytes(std::span(values)));
  }

  // Adds only an entry of the tensor table.
  GgufBuilder& add_tensor_raw(std::string_view name, uint32_t type,
                              const std::vector<uint64_t>& dims, uint64_t offset) {
    append_string(tensors_, name);
    append_number(tensors_, static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) append_number(tensors_, dim);
    append_number(tensors_, type);
    append_number(tensors_, offset);
    ++n_tensors_;
    return *this;
  }

  // Returns the file from the magic to the tensor table, without the padding after it.
  Bytes build_header() const {
    Bytes file;
    append_bytes(file, std::as_bytes(std::span("GGUF", 4)));
    append_number(file, version_);
    append_number(file, n_tensors_);
    append_number(file, n_metadata_);
    append_bytes(file, metadata_);
    append_bytes(file, tensors_);
    return file;
  }

  // Returns the whole file, with every tensor padded to the alignment.
  Bytes build() const {
    Bytes file = build_header();
    if (n_tensors_ > 0) pad(file);
    append_bytes(file, data_);
    return file;
  }

 private:
  void pad(Bytes& bytes) const {
    bytes.resize(static_cast<size_t>(round_up(bytes.size(), alignment_)));
  }

  uint32_t version_;
  uint32_t alignment_ = kDefaultAlignment;
  uint64_t n_metadata_ = 0;
  uint64_t n_tensors_ = 0;
  Bytes metadata_;
  Bytes tensors_;
  Bytes data_;
};

}  // namespace kinglet
