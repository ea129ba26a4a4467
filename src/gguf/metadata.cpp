#include "gguf/metadata.h"

#include <iterator>
#include <limits>

#include "gguf/cursor.h"

namespace kinglet {
namespace {

constexpr size_t kLengthBytes = sizeof(uint64_t);                        // in front of a string
constexpr size_t kArrayHeadBytes = sizeof(uint32_t) + sizeof(uint64_t);  // element type and count

MetadataArray array_at(std::span<const std::byte> bytes) {
  return MetadataArray(static_cast<ValueType>(load<uint32_t>(bytes)),
                       load<uint64_t>(bytes.subspan(sizeof(uint32_t))),
                       bytes.subspan(kArrayHeadBytes));
}

struct TypeRow {
  std::string_view name = "unknown";
  size_t bytes = 0;
  bool is_integer = false;
};

// Indexed by ValueType.
constexpr TypeRow kTypes[] = {{"uint8", 1, true}, {"int8", 1, true},   {"uint16", 2, true},
                              {"int16", 2, true}, {"uint32", 4, true}, {"int32", 4, true},
                              {"float32", 4},     {"bool", 1},         {"string"},
                              {"array"},          {"uint64", 8, true}, {"int64", 8, true},
                              {"float64", 8}};

TypeRow row_of(ValueType type) {
  const auto row = static_cast<size_t>(type);
  return row < std::size(kTypes) ? kTypes[row] : TypeRow();
}

}  // namespace

std::string_view value_type_name(ValueType type) { return row_of(type).name; }

size_t value_type_bytes(ValueType type) { return row_of(type).bytes; }

bool is_integer(ValueType type) { return row_of(type).is_integer; }

std::optional<uint64_t> MetadataValue::as_uint() const {
  if (type_ == ValueType::uint64) return load<uint64_t>(bytes_);
  const auto value = as_int();
  if (!value || *value < 0) return std::nullopt;
  return static_cast<uint64_t>(*value);
}

std::optional<int64_t> MetadataValue::as_int() const {
  switch (type_) {
    case ValueType::uint8:
      return load<uint8_t>(bytes_);
    case ValueType::int8:
      return load<int8_t>(bytes_);
    case ValueType::uint16:
      return load<uint16_t>(bytes_);
    case ValueType::int16:
      return load<int16_t>(bytes_);
    case ValueType::uint32:
      return load<uint32_t>(bytes_);
    case ValueType::int32:
      return load<int32_t>(bytes_);
    case ValueType::int64:
      return load<int64_t>(bytes_);
    case ValueType::uint64: {
      const auto value = load<uint64_t>(bytes_);
      if (value > std::numeric_limits<int64_t>::max()) return std::nullopt;
      return static_cast<int64_t>(value);
    }
    default:
      return std::nullopt;
  }
}

std::optional<double> MetadataValue::as_float() const {
  if (type_ == ValueType::float32) return static_cast<double>(load<float>(bytes_));
  if (type_ == ValueType::float64) return load<double>(bytes_);
  return std::nullopt;
}

std::optional<bool> MetadataValue::as_bool() const {
  if (type_ != ValueType::boolean) return std::nullopt;
  return load<uint8_t>(bytes_) != 0;
}

std::optional<std::string_view> MetadataValue::as_string() const {
  if (type_ != ValueType::string) return std::nullopt;
  return as_text(bytes_.subspan(kLengthBytes));
}

std::optional<MetadataArray> MetadataValue::as_array() const {
  if (type_ != ValueType::array) return std::nullopt;
  return array_at(bytes_);
}

size_t MetadataArray::element_bytes(std::span<const std::byte> rest) const {
  if (element_type_ == ValueType::string) {
    return kLengthBytes + static_cast<size_t>(load<uint64_t>(rest));
  }
  if (element_type_ != ValueType::array) return value_type_bytes(element_type_);
  const MetadataArray inner = array_at(rest);
  if (const size_t bytes = value_type_bytes(inner.element_type_); bytes > 0) {
    return kArrayHeadBytes + bytes * static_cast<size_t>(inner.size_);
  }
  size_t bytes = kArrayHeadBytes;
  for (uint64_t i = 0; i < inner.size_; ++i) bytes += inner.element_bytes(rest.subspan(bytes));
  return bytes;
}

}  // namespace kinglet
