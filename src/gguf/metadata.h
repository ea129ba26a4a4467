// Metadata values of a GGUF header, as views of its bytes. The parser checks every length before it
// makes a value, so only a request for the wrong type can fail here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace kinglet {

// The values are those of the GGUF specification (gguf_metadata_value_type).
enum class ValueType : uint32_t {
  uint8 = 0,
  int8 = 1,
  uint16 = 2,
  int16 = 3,
  uint32 = 4,
  int32 = 5,
  float32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  uint64 = 10,
  int64 = 11,
  float64 = 12,
};

// The name of a type: "uint32"; "unknown" if the value is not in the enum.
std::string_view value_type_name(ValueType type);

// The bytes of one value of a fixed-size type; 0 for strings and arrays.
size_t value_type_bytes(ValueType type);

// Whether values of the type are integers, with or without a sign.
bool is_integer(ValueType type);

class MetadataArray;

class MetadataValue {
 public:
  MetadataValue(ValueType type, std::span<const std::byte> bytes) : type_(type), bytes_(bytes) {}

  ValueType type() const { return type_; }

  // The stored bytes, without the type in front.
  std::span<const std::byte> bytes() const { return bytes_; }

  // Each returns a value only if the conversion from the stored type loses nothing:
  std::optional<uint64_t> as_uint() const;  // any integer that is not negative
  std::optional<int64_t> as_int() const;    // any integer that fits
  std::optional<double> as_float() const;   // float32 and float64
  std::optional<bool> as_bool() const;
  std::optional<std::string_view> as_string() const;
  std::optional<MetadataArray> as_array() const;

 private:
  ValueType type_;
  std::span<const std::byte> bytes_;  // the stored value, after its type
};

// An array: elements of one type, stored one after the other.
class MetadataArray {
 public:
  MetadataArray(ValueType element_type, uint64_t size, std::span<const std::byte> elements)
      : element_type_(element_type), size_(size), elements_(elements) {}

  ValueType element_type() const { return element_type_; }
  uint64_t size() const { return size_; }

  // Calls f(index, MetadataValue) for each element, in order.
  template <class F>
  void for_each(F f) const {
    std::span<const std::byte> rest = elements_;
    for (uint64_t i = 0; i < size_; ++i) {
      const size_t bytes = element_bytes(rest);
      f(i, MetadataValue(element_type_, rest.first(bytes)));
      rest = rest.subspan(bytes);
    }
  }

 private:
  // The bytes of the element at the front of `rest`.
  size_t element_bytes(std::span<const std::byte> rest) const;

  ValueType element_type_;
  uint64_t size_;
  std::span<const std::byte> elements_;
};

}  // namespace kinglet
