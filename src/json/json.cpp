#include "json/json.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/ascii.h"
#include "base/decimal.h"

namespace kinglet {
namespace {

// A number as digits x 10^exponent, without zeros at either end of the digits. Zero has no digits.
struct Scientific {
  explicit Scientific(std::string_view spelling) {
    is_negative = spelling.starts_with('-');
    if (is_negative) spelling.remove_prefix(1);
    const size_t end = std::min(spelling.find_first_of("eE"), spelling.size());
    bool is_fraction = false;
    for (const char c : spelling.substr(0, end)) {
      if (c == '.') {
        is_fraction = true;
        continue;
      }
      if (is_fraction) --exponent;
      if (c != '0' || !digits.empty()) digits += c;
    }
    while (digits.ends_with('0')) {
      digits.pop_back();
      ++exponent;
    }
    if (digits.empty()) {
      is_negative = false;
      exponent = 0;
      return;
    }
    if (end == spelling.size()) return;
    std::string_view power = spelling.substr(end + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    // A power beyond that is as good as infinite, and the sum must fit in 64 bits.
    constexpr int64_t kFarOut = int64_t{1} << 60;
    const int64_t infinite = power.starts_with('-') ? -kFarOut : kFarOut;
    const int64_t read = parse_decimal<int64_t>(power).value_or(infinite);
    exponent += std::clamp(read, -kFarOut, kFarOut);
  }

  friend bool operator==(const Scientific&, const Scientific&) = default;

  bool is_negative = false;
  std::string digits;
  int64_t exponent = 0;
};

std::vector<const Json::Member*> sorted_members(const Json::Object& object) {
  std::vector<const Json::Member*> members;
  members.reserve(object.size());
  for (const Json::Member& member : object) members.push_back(&member);
  std::sort(members.begin(), members.end(),
            [](const Json::Member* a, const Json::Member* b) { return a->first < b->first; });
  return members;
}

bool are_equal_objects(const Json::Object& a, const Json::Object& b) {
  if (a.size() != b.size()) return false;
  const auto have_equal_names = [](const Json::Member& one, const Json::Member& other) {
    return one.first == other.first;
  };
  if (std::equal(a.begin(), a.end(), b.begin(), have_equal_names)) return a == b;
  const auto of_a = sorted_members(a);
  const auto of_b = sorted_members(b);
  return std::equal(
      of_a.begin(), of_a.end(), of_b.begin(),
      [](const Json::Member* one, const Json::Member* other) { return *one == *other; });
}

void append_canonical(const Json& value, std::string& out) {
  const auto append = [&out](std::string_view text) { out += cat(text.size(), "\"", text); };
  switch (value.type()) {
    case Json::Type::null:
    case Json::Type::boolean:
      out += print(value);
      break;
    case Json::Type::number: {
      const Scientific number(value.spelling());
      out += cat(number.is_negative ? "-" : "+", number.digits, "e", number.exponent);
      break;
    }
    case Json::Type::string:
      append(value.as_string());
      break;
    case Json::Type::array:
      out += '[';
      for (const Json& item : value.as_array()) {
        append_canonical(item, out);
        out += ',';
      }
      out += ']';
      break;
    case Json::Type::object:
      out += '{';
      for (const Json::Member* member : sorted_members(value.as_object())) {
        append(member->first);
        append_canonical(member->second, out);
      }
      out += '}';
      break;
  }
}

}  // namespace

Json::Json(double number) {
  if (std::isfinite(number)) value_ = Number{number_text(number)};
}

Json::Json(std::initializer_list<std::pair<std::string_view, Json>> members) {
  Object& object = value_.emplace<Object>();
  object.reserve(members.size());
  for (const auto& [name, value] : members) object.emplace_back(name, value);
}

Json Json::from_members(Object members) {
  Json object;
  object.value_ = std::move(members);
  return object;
}

Json Json::number(std::string_view spelling) {
  Json number;
  number.value_ = Number{std::string(spelling)};
  return number;
}

double Json::as_double() const { return *read_number(spelling()); }

std::optional<int64_t> Json::as_integer() const {
  if (const auto plain = parse_decimal<int64_t>(spelling())) return plain;
  const Scientific number(spelling());
  constexpr size_t kMostDigits = std::numeric_limits<int64_t>::digits10 + 1;
  if (number.digits.empty()) return 0;
  if (number.exponent < 0 || number.exponent >= int64_t{kMostDigits}) return std::nullopt;
  return parse_decimal<int64_t>(cat(number.is_negative ? "-" : "", number.digits,
                                    std::string(static_cast<size_t>(number.exponent), '0')));
}

size_t Json::size() const {
  return is_array() ? as_array().size() : is_object() ? as_object().size() : 0;
}

const Json* Json::find(std::string_view name) const {
  if (!is_object()) return nullptr;
  const Object& members = as_object();
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const Member& member) { return member.first == name; });
  return found == members.end() ? nullptr : &found->second;
}

const std::string* Json::find_string(std::string_view name) const {
  const Json* found = find(name);
  return found != nullptr && found->is_string() ? &found->as_string() : nullptr;
}

std::string_view Json::text_of(std::string_view name) const {
  const std::string* text = find_string(name);
  return text == nullptr ? std::string_view() : *text;
}

const Json& Json::operator[](std::string_view name) const {
  static const Json kNull;
  const Json* found = find(name);
  return found == nullptr ? kNull : *found;
}

Json& Json::operator[](std::string_view name) {
  if (is_null()) value_.emplace<Object>();
  if (Json* found = find(name)) return *found;
  return as_object().emplace_back(name, Json()).second;
}

void Json::push_back(Json item) {
  if (is_null()) value_.emplace<Array>();
  as_array().push_back(std::move(item));
}

void Json::erase(std::string_view name) {
  std::erase_if(as_object(), [&](const Member& member) { return member.first == name; });
}

bool operator==(const Json& a, const Json& b) {
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case Json::Type::null:
      return true;
    case Json::Type::boolean:
      return a.as_boolean() == b.as_boolean();
    case Json::Type::number:
      return Scientific(a.spelling()) == Scientific(b.spelling());
    case Json::Type::string:
      return a.as_string() == b.as_string();
    case Json::Type::array:
      return a.as_array() == b.as_array();
    case Json::Type::object:
      return are_equal_objects(a.as_object(), b.as_object());
  }
  return false;
}

std::string canonical_text(const Json& value) {
  std::string text;
  append_canonical(value, text);
  return text;
}

std::string_view json_type_name(Json::Type type) {
  constexpr std::string_view kNames[] = {"null",     "a boolean", "a number",
                                         "a string", "an array",  "an object"};
  return kNames[static_cast<size_t>(type)];
}

}  // namespace kinglet
