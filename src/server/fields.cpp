#include "server/fields.h"

#include <cmath>
#include <limits>

#include "base/format.h"

namespace kinglet::server {
namespace {

constexpr size_t kShownBytes = 40;

// Returns the number if it is a whole one.
std::optional<int64_t> whole(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return number <= kMost ? std::optional(static_cast<int64_t>(number)) : std::nullopt;
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_number()) return std::nullopt;
  const auto number = value.get<double>();
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (std::fabs(number) > kExact || std::trunc(number) != number) return std::nullopt;
  return static_cast<int64_t>(number);
}

}  // namespace

ApiError wrong_value(const std::string& name, const Json& found, std::string_view expected) {
  const bool is_long =
      found.is_structured() ||
      (found.is_string() && found.get_ref<const std::string&>().size() > kShownBytes);
  const std::string shown =
      is_long ? cat(found.type_name()[0] == 's' ? "a long " : "an ", found.type_name())
              : print(found);
  return invalid(cat(name, " is ", shown, ", expected ", expected), name);
}

std::string Fields::place_of(std::string_view name) const {
  return place_.empty() ? std::string(name) : cat(place_, ".", name);
}

const Json* Fields::find(const std::string& name) {
  known_.insert(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

ApiStatus Fields::take(const std::string& name, bool& out) {
  const Json* value = find(name);
  if (value == nullptr) return {};
  if (!value->is_boolean()) return wrong_value(place_of(name), *value, "true or false");
  out = value->get<bool>();
  return {};
}

ApiStatus Fields::take(const std::string& name, std::string& out) {
  const Json* value = find(name);
  if (value == nullptr) return {};
  if (!value->is_string()) return wrong_value(place_of(name), *value, "a text");
  out = value->get<std::string>();
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
  const auto number = value->get<double>();
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
  const std::optional<int64_t> number = whole(*value);
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
    out = {value->get<std::string>()};
    return {};
  }
  std::vector<std::string> texts;
  for (const Json& item : *value) {
    if (!value->is_array() || !item.is_string()) {
      return wrong_value(place_of(name), *value, "a text or a list of texts");
    }
    texts.push_back(item.get<std::string>());
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
  for (const char* name : names) known_.insert(name);
}

ApiStatus Fields::check_all_known() const {
  for (const auto& [name, value] : object_.items()) {
    if (value.is_null() || known_.contains(name)) continue;
    const std::string place = place_of(name);
    return invalid(cat("the parameter \"", place, "\" is not supported"), place);
  }
  return {};
}

}  // namespace kinglet::server
