#include "gguf/header.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/format.h"
#include "base/in_quotes.h"

namespace kinglet {
namespace {

// "int32 -1", "array of string", "bool".
std::string describe(const MetadataValue& value) {
  const std::string_view type = value_type_name(value.type());
  if (const auto number = value.as_uint()) return cat(type, " ", *number);
  if (const auto number = value.as_int()) return cat(type, " ", *number);
  if (const auto array = value.as_array()) {
    return cat("array of ", value_type_name(array->element_type()));
  }
  return std::string(type);
}

Error missing(std::string_view key, std::string_view expected) {
  return Error{ErrorCode::missing_metadata,
               cat("metadata ", in_quotes(key), " is missing, expected ", expected)};
}

Error wrong_type(std::string_view key, const MetadataValue& value, std::string_view expected) {
  return Error{ErrorCode::wrong_type,
               cat("metadata ", in_quotes(key), " is ", describe(value), ", expected ", expected)};
}

constexpr std::string_view kUint = "an integer from 0 to 4294967295";
constexpr std::string_view kFloat = "float32 or float64";

Result<uint32_t> to_uint(std::string_view key, const MetadataValue& value) {
  const auto number = value.as_uint();
  if (!number || *number > std::numeric_limits<uint32_t>::max()) {
    return wrong_type(key, value, kUint);
  }
  return static_cast<uint32_t>(*number);
}

Result<float> to_float(std::string_view key, const MetadataValue& value) {
  const auto number = value.as_float();
  if (!number) return wrong_type(key, value, kFloat);
  constexpr double kMax = std::numeric_limits<float>::max();
  if (!(*number >= -kMax && *number <= kMax)) {  // NaN fails every comparison
    return Error{ErrorCode::not_finite,
                 cat("metadata ", in_quotes(key), " is NaN, infinite or too large for a float32")};
  }
  return static_cast<float>(*number);
}

}  // namespace

const MetadataValue* GgufHeader::find(std::string_view key) const {
  const auto entry = std::find_if(metadata.begin(), metadata.end(),
                                  [key](const MetadataEntry& e) { return e.key == key; });
  return entry == metadata.end() ? nullptr : &entry->value;
}

const TensorInfo* GgufHeader::find_tensor(std::string_view name) const {
  const auto tensor = std::find_if(tensors.begin(), tensors.end(),
                                   [name](const TensorInfo& t) { return t.name == name; });
  return tensor == tensors.end() ? nullptr : &*tensor;
}

Result<uint32_t> GgufHeader::require_uint(std::string_view key) const {
  const MetadataValue* value = find(key);
  if (value == nullptr) return missing(key, kUint);
  return to_uint(key, *value);
}

Result<uint32_t> GgufHeader::get_uint(std::string_view key, uint32_t fallback) const {
  const MetadataValue* value = find(key);
  if (value == nullptr) return fallback;
  return to_uint(key, *value);
}

Result<float> GgufHeader::require_float(std::string_view key) const {
  const MetadataValue* value = find(key);
  if (value == nullptr) return missing(key, kFloat);
  return to_float(key, *value);
}

Result<float> GgufHeader::get_float(std::string_view key, float fallback) const {
  const MetadataValue* value = find(key);
  if (value == nullptr) return fallback;
  return to_float(key, *value);
}

Result<bool> GgufHeader::get_bool(std::string_view key, bool fallback) const {
  const MetadataValue* value = find(key);
  if (value == nullptr) return fallback;
  if (const auto flag = value->as_bool()) return *flag;
  return wrong_type(key, *value, "bool");
}

Result<std::string_view> GgufHeader::require_string(std::string_view key) const {
  const MetadataValue* value = find(key);
  if (value == nullptr) return missing(key, "string");
  if (const auto text = value->as_string()) return *text;
  return wrong_type(key, *value, "string");
}

Result<std::string_view> GgufHeader::get_string(std::string_view key,
                                                std::string_view fallback) const {
  return find(key) == nullptr ? fallback : require_string(key);
}

Result<MetadataArray> GgufHeader::require_array(std::string_view key,
                                                ValueType element_type) const {
  const std::string expected = cat("array of ", value_type_name(element_type));
  const MetadataValue* value = find(key);
  if (value == nullptr) return missing(key, expected);
  const auto array = value->as_array();
  if (!array || array->element_type() != element_type) return wrong_type(key, *value, expected);
  return *array;
}

Result<MetadataArray> GgufHeader::require_integers(std::string_view key) const {
  constexpr std::string_view kExpected = "array of integers";
  const MetadataValue* value = find(key);
  if (value == nullptr) return missing(key, kExpected);
  const auto array = value->as_array();
  if (!array || !is_integer(array->element_type())) return wrong_type(key, *value, kExpected);
  return *array;
}

}  // namespace kinglet
