#include "openai/fields.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/ascii.h"
#include "base/format.h"

namespace kinglet::openai {
namespace {

constexpr size_t kShownBytes = 40;

}  // namespace

ApiError wrong_value(const std::string& name, const Json& found, std::string_view expected) {
  const bool is_long_string = found.is_string() && found.as_string().size() > kShownBytes;
  const bool is_empty = (found.is_array() || found.is_object()) && found.size() == 0;
  const std::string shown = is_long_string ? "a long string"
                            : is_empty     ? cat("an empty ", found.is_array() ? "array" : "object")
                            : found.is_array() || found.is_object()
                                ? std::string(json_type_name(found.type()))
                                : print(found);
  return invalid(cat(name, " is ", shown, ", expected ", expected), name);
}

ApiError wrong_item(const std::string& name, size_t i, const Json& found,
                    std::string_view expected) {
  ApiError error = wrong_value(cat(name, "[", i, "]"), found, expected);
  error.param = name;
  return error;
}

std::string Fields::place_of(std::string_view name) const {
  return place_.empty() ? std::string(name) : cat(place_, ".", name);
}

const Json* Fields::find(const std::string& name) {
  known_.push_back(name);
  const Json* found = object_.find(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

ApiStatus Fields::take(const std::string& name, bool& out) {
  const Json* value = find(name);
  if (value == nullptr) return {};
  if (!value->is_boolean()) return wrong_value(place_of(name), *value, "true or false");
  out = value->as_boolean();
  return {};
}

ApiStatus Fields::take(const std::string& name, std::string& out) {
  const Json* value = find(name);
  if (value == nullptr) return {};
  if (!value->is_string()) return wrong_value(place_of(name), *value, "a string");
  out = value->as_string();
  return {};
}

ApiStatus Fields::take(const std::string& name, std::optional<std::string>& out) {
  if (find(name) == nullptr) return {};
  return take(name, out.emplace());
}

ApiStatus Fields::take(const std::string& name, std::optional<float>& out) {
  const Json* value = find(name);
  if (value == nullptr) return {};
  if (!value->is_number()) return wrong_value(place_of(name), *value, "a number");
  const auto number = value->as_double();
  if (!(std::fabs(number) <= std::numeric_limits<float>::max())) {
    return wrong_value(place_of(name), *value, "a smaller number");
  }
  out = static_cast<float>(number);
  return {};
}

ApiStatus Fields::take(const std::string& name, std::optional<int64_t>& out, int64_t least,
                       int64_t most) {
  const Json* value = find(name);
  if (value == nullptr) return {};
  const auto number = value->is_number() ? value->as_integer() : std::nullopt;
  if (!number || *number < least || *number > most) {
    return wrong_value(place_of(name), *value, cat("a whole number from ", least, " to ", most));
  }
  out = number;
  return {};
}

ApiStatus Fields::take(const std::string& name, std::vector<std::string>& out) {
  const Json* value = find(name);
  if (value == nullptr) return {};
  if (value->is_string()) {
    out = {value->as_string()};
    return {};
  }
  constexpr std::string_view kExpected = "a string or an array of strings";
  if (!value->is_array()) return wrong_value(place_of(name), *value, kExpected);
  std::vector<std::string> texts;
  for (const Json& item : value->as_array()) {
    if (!item.is_string()) return wrong_item(place_of(name), texts.size(), item, "a string");
    texts.push_back(item.as_string());
  }
  out = std::move(texts);
  return {};
}

ApiResult<const Json*> Fields::take_object(const std::string& name) {
  const Json* value = find(name);
  if (value != nullptr && !value->is_object())
    return wrong_value(place_of(name), *value, "an object");
  return value;
}

void Fields::ignore(std::initializer_list<const char*> names) {
  known_.insert(known_.end(), names.begin(), names.end());
}

void Fields::ignore_if(const std::string& name, std::initializer_list<Json> values) {
  if (std::find(values.begin(), values.end(), object_[name]) != values.end()) {
    known_.push_back(name);
  }
}

ApiStatus Fields::check_all_known() const {
  for (const auto& [name, value] : object_.as_object()) {
    if (value.is_null() || is_among(name, known_)) continue;
    const std::string place = place_of(name);
    return invalid(cat("the parameter \"", place, "\" is not supported"), place);
  }
  return {};
}

}  // namespace kinglet::openai
