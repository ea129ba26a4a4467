// The input is two numbers, the limits, and a text. What can be read is printed and read again: the
// value and its text stay the same.
#include "json/json.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "base/format.h"
#include "fuzz/input.h"

namespace kinglet::fuzz {
namespace {

constexpr uint32_t kMostDepth = 8;
constexpr uint32_t kMostMembers = 8;

// How much of each limit a value needs.
struct NeededLimits {
  size_t depth = 0;
  size_t members = 0;

  void add(const Json& value) {
    const auto add_inside = [this](const Json& inside) {
      NeededLimits needed;
      needed.add(inside);
      depth = std::max(depth, needed.depth + 1);
      members = std::max(members, needed.members);
    };
    if (value.is_array()) {
      depth = std::max<size_t>(depth, 1);
      for (const Json& item : value.as_array()) add_inside(item);
    } else if (value.is_object()) {
      depth = std::max<size_t>(depth, 1);
      members = std::max(members, value.size());
      for (const auto& [name, member] : value.as_object()) add_inside(member);
    }
  }

  bool fit(const JsonLimits& limits) const {
    return depth <= limits.depth && members <= limits.members;
  }
};

Json read_again(std::string_view text) {
  auto again = parse_json(text);
  check(again.ok(), cat("what was printed cannot be read: ", text));
  return again.ok() ? std::move(again.value()) : Json();
}

void check_number(const Json& number) {
  const double rounded = number.as_double();
  check(!std::isnan(rounded), "a number that is none");
  const auto whole = number.as_integer();
  if (!whole) return;
  check(rounded == static_cast<double>(*whole), "a whole number of another size");
  check(number == Json(*whole), "a whole number that differs from itself");
}

void check_numbers(const Json& value) {
  if (value.is_number()) return check_number(value);
  if (value.is_array()) {
    for (const Json& item : value.as_array()) check_numbers(item);
  } else if (value.is_object()) {
    for (const auto& [name, member] : value.as_object()) check_numbers(member);
  }
}

void check_error(const Error& error) {
  check(error.code == ErrorCode::invalid_argument, "another error than expected");
  check(!error.message.empty(), "an error without words");
}

}  // namespace

void json(Bytes bytes) {
  Input input(bytes);
  const JsonLimits limits{.depth = input.up_to(kMostDepth), .members = input.up_to(kMostMembers)};
  const std::string_view text = input.rest_text();

  // Any bytes can be printed as a string.
  const std::string as_string = print(Json(text));
  check(print(read_again(as_string)) == as_string, "a string that changes when it is read");

  const auto value = parse_json(text);
  const auto limited = parse_json(text, limits);
  if (!value.ok()) {
    check(!limited.ok(), "read only with limits");
    return check_error(value.error());
  }
  const std::string printed = print(value.value());
  const Json again = read_again(printed);
  check(again == value.value(), "a value that changes when it is printed");
  check(print(again) == printed, "a text that changes when it is read");
  check(print(read_again(print(value.value(), " \t"))) == printed, "another value with indents");
  check_numbers(value.value());

  NeededLimits needed;
  needed.add(value.value());
  // A text may also have values that later ones of the same name replace.
  check(parse_json(printed, limits).ok() == needed.fit(limits), "limits that do not hold");
  if (!limited.ok()) return check_error(limited.error());
  check(needed.fit(limits), "a value beyond the limits");
  check(print(limited.value()) == printed, "another value with limits");
}

}  // namespace kinglet::fuzz
