// JSON values (RFC 8259). Objects keep the order of their members, and numbers keep their spelling:
// what was read is printed again digit for digit, whatever its size.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/cancellation.h"
#include "base/format.h"
#include "base/result.h"

namespace kinglet {

class Json {
 public:
  enum class Type : uint8_t { null, boolean, number, string, array, object };

  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;  // no name occurs twice

  Json() = default;
  Json(std::nullptr_t) {}                                                  // NOLINT: implicit
  Json(bool value) : value_(value) {}                                      // NOLINT: implicit
  Json(std::integral auto number) : value_(Number{cat(number)}) {}         // NOLINT: implicit
  Json(double number);                                                     // NOLINT: implicit
  Json(std::string text) : value_(std::move(text)) {}                      // NOLINT: implicit
  Json(std::string_view text) : value_(std::string(text)) {}               // NOLINT: implicit
  Json(const char* text) : value_(std::string(text)) {}                    // NOLINT: implicit
  Json(Array items) : value_(std::move(items)) {}                          // NOLINT: implicit
  Json(std::initializer_list<std::pair<std::string_view, Json>> members);  // NOLINT: implicit

  static Json array(std::initializer_list<Json> items = {}) { return Array(items); }
  static Json object() { return from_members({}); }
  // No name may occur twice.
  static Json from_members(Object members);
  // `spelling` must be a number of JSON.
  static Json number(std::string_view spelling);

  Type type() const { return static_cast<Type>(value_.index()); }
  bool is_null() const { return type() == Type::null; }
  bool is_boolean() const { return type() == Type::boolean; }
  bool is_number() const { return type() == Type::number; }
  bool is_string() const { return type() == Type::string; }
  bool is_array() const { return type() == Type::array; }
  bool is_object() const { return type() == Type::object; }

  // Each of these is for values of the type in its name.
  bool as_boolean() const { return *std::get_if<bool>(&value_); }
  const std::string& as_string() const { return *std::get_if<std::string>(&value_); }
  std::string& as_string() { return *std::get_if<std::string>(&value_); }
  const Array& as_array() const { return *std::get_if<Array>(&value_); }
  Array& as_array() { return *std::get_if<Array>(&value_); }
  const Json& operator[](size_t item) const { return as_array()[item]; }
  Json& operator[](size_t item) { return as_array()[item]; }
  const Object& as_object() const { return *std::get_if<Object>(&value_); }
  Object& as_object() { return *std::get_if<Object>(&value_); }

  // The rest are for numbers. Infinity for a number that is too large for a double.
  const std::string& spelling() const { return std::get_if<Number>(&value_)->spelling; }
  double as_double() const;
  // Returns the number if it is a whole one of 64 bits, also when it is written as 5.0 or 5e2.
  std::optional<int64_t> as_integer() const;

  // The number of items or members; 0 for other values.
  size_t size() const;
  bool empty() const { return size() == 0; }

  // Returns the member's value; null if there is none, or this is not an object.
  const Json* find(std::string_view name) const;
  Json* find(std::string_view name) { return const_cast<Json*>(std::as_const(*this).find(name)); }
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  // Returns the string that the member is; null if it is none.
  const std::string* find_string(std::string_view name) const;
  // The same; "" if it is none.
  std::string_view text_of(std::string_view name) const;
  // Returns the member's value; JSON's null if there is none, or this is not an object.
  const Json& operator[](std::string_view name) const;

  // The same for an object, or null, which becomes an object; but a member that was missing is new.
  Json& operator[](std::string_view name);

  // For arrays and null, which becomes an array.
  void push_back(Json item);

  // Removes a member of an object. Does nothing if there is none.
  void erase(std::string_view name);

  // Numbers are equal if their values are (1 and 1.0), and objects whatever their order.
  friend bool operator==(const Json& a, const Json& b);

 private:
  struct Number {
    std::string spelling;
  };

  // In the order of Type.
  std::variant<std::nullptr_t, bool, Number, std::string, Array, Object> value_;
};

// "a number", "an object" and the like.
std::string_view json_type_name(Json::Type type);

// Returns a text that equal values share, and no others.
std::string canonical_text(const Json& value);

// Limits of what is parsed.
struct JsonLimits {
  size_t depth = 128;         // levels of arrays and objects
  size_t members = SIZE_MAX;  // of an object
  Cancellation cancellation = {};
};

// Parses JSON in UTF-8, in a time proportional to its size; the members of an object are sorted.
// The last of equal names counts, at the place of the first. Fails with
// ErrorCode::invalid_argument; the message says what was found and at which byte.
// ErrorCode::cancelled.
Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});

// Prints JSON: on one line, without spaces; or each item and member on a line of its own, after
// `indent` for each level. Bytes that are not UTF-8 are replaced by U+FFFD.
std::string print(const Json& value, std::string_view indent = {});

}  // namespace kinglet
