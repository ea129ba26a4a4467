#include "text/jinja/json.h"

#include <string>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/format.h"
#include "base/utf8.h"
#include "json/escape.h"
#include "text/jinja/work.h"

namespace kinglet::jinja {
namespace {

constexpr size_t kMaxLevels = 100;

class Printer {
 public:
  explicit Printer(const JsonStyle& style) : style_(style) {}

  Status print(const Value& value, size_t depth) {
    if (depth > kMaxLevels) return refusal("tojson: the value is nested too deeply");
    switch (value.kind()) {
      case Kind::none:
        out_.append("null");
        return {};
      case Kind::boolean:
        out_.append(value.as_boolean() ? "true" : "false");
        return {};
      case Kind::integer:
        out_.append(cat(value.as_integer()));
        return {};
      case Kind::long_integer:
        out_.append(value.to_text());
        return {};
      case Kind::real:
        out_.append(number(value.as_real()));
        return {};
      case Kind::text:
        print_text(value.as_text());
        return {};
      case Kind::list:
      case Kind::tuple:
        return print_list(value.items(), depth);
      case Kind::dict:
        return print_dict(value.entries(), depth);
      default:
        return refusal(cat("tojson: ", value.type_name(), " cannot be written as JSON"));
    }
  }

  Text take() { return std::move(out_); }

 private:
  static std::string number(double value) {
    Work::spend(work_of_real(value));
    const std::string text = number_text(value);
    if (text == "nan") return "NaN";
    if (text == "inf") return "Infinity";
    return text == "-inf" ? "-Infinity" : text;
  }

  void begin_line(size_t depth) {
    if (!style_.indent) return;
    out_.append("\n");
    for (size_t i = 0; i < depth; ++i) out_.append(*style_.indent);
  }

  Status print_list(const List& items, size_t depth) {
    out_.append("[");
    for (size_t i = 0; i < items.size() && !out_.is_full(); ++i) {
      if (i > 0) out_.append(style_.item_separator);
      begin_line(depth + 1);
      KINGLET_TRY(print(items[i], depth + 1));
    }
    if (!items.empty()) begin_line(depth);
    out_.append("]");
    return {};
  }

  Status print_dict(const Dict& dict, size_t depth) {
    const auto& entries = dict.entries;
    std::vector<size_t> places(entries.size());
    for (size_t i = 0; i < places.size(); ++i) places[i] = i;
    if (style_.sort_keys) {
      List keys;
      for (const auto& [key, value] : entries) keys.push_back(key);
      KINGLET_ASSIGN(places, sorted_places(keys, false));
    }
    out_.append("{");
    for (size_t i = 0; i < entries.size() && !out_.is_full(); ++i) {
      if (i > 0) out_.append(style_.item_separator);
      begin_line(depth + 1);
      const auto& [key, value] = entries[places[i]];
      KINGLET_TRY(print_key(key));
      out_.append(style_.key_separator);
      KINGLET_TRY(print(value, depth + 1));
    }
    if (!entries.empty()) begin_line(depth);
    out_.append("}");
    return {};
  }

  // Prints the key as a string, even if it is a number, None or a boolean.
  Status print_key(const Value& key) {
    if (key.is(Kind::text)) {
      print_text(key.as_text());
      return {};
    }
    if (key.is(Kind::tuple)) return refusal("tojson: a tuple cannot be a key");
    out_.append("\"");
    KINGLET_TRY(print(key, 0));
    out_.append("\"");
    return {};
  }

  void print_text(const Text& text) {
    out_.append("\"");
    const std::string_view bytes = text.bytes();
    for (size_t at = 0; at < bytes.size() && !out_.is_full();) {
      const Utf8Char character = decode_utf8(bytes.substr(at));
      print_character(character.code_point, bytes.substr(at, character.n_bytes), text.is_said(at));
      at += character.n_bytes;
    }
    out_.append("\"");
  }

  void print_character(char32_t code, std::string_view bytes, bool is_said) {
    if (code < 0x80) {
      if (const std::string escape = json_escape(bytes.front()); !escape.empty()) {
        out_.append(escape, is_said);
        return;
      }
    }
    if (code < 0x7f || !style_.ascii) {
      out_.append(bytes, is_said);
      return;
    }
    if (code >= 0x10000) {
      print_unit(0xd800 + ((code - 0x10000) >> 10), is_said);
      code = 0xdc00 + ((code - 0x10000) & 0x3ff);
    }
    print_unit(code, is_said);
  }

  void print_unit(char32_t unit, bool is_said) {
    out_.append("\\u", is_said);
    for (int shift = 12; shift >= 0; shift -= 4) {
      out_.append(kHexDigits.substr((unit >> shift) & 0xf, 1), is_said);
    }
  }

  const JsonStyle& style_;
  Text out_;
};

}  // namespace

Value value_of(const Json& json, const Cancellation& cancellation) {
  switch (json.type()) {
    case Json::Type::null:
      return Value::none();
    case Json::Type::boolean:
      return Value::boolean(json.as_boolean());
    case Json::Type::number: {
      const bool is_whole = json.spelling().find_first_of(".eE") == std::string::npos;
      return is_whole ? Value::whole(json.spelling()) : Value::real(json.as_double());
    }
    case Json::Type::string:
      return Value::text(json.as_string(), true);
    case Json::Type::array: {
      List items;
      items.reserve(json.size());
      for (const Json& item : json.as_array()) {
        if (cancellation.requested()) break;
        items.push_back(value_of(item, cancellation));
      }
      return Value::list(std::move(items));
    }
    case Json::Type::object: {
      Dict dict;
      dict.entries.reserve(json.size());
      for (const auto& [name, member] : json.as_object()) {
        if (cancellation.requested()) break;
        dict.entries.emplace_back(Value::text(name, true), value_of(member, cancellation));
      }
      return Value::dict(std::move(dict));
    }
  }
  return Value();
}

Result<Text> print_json(const Value& value, const JsonStyle& style) {
  Printer printer(style);
  KINGLET_TRY(printer.print(value, 0));
  return printer.take();
}

}  // namespace kinglet::jinja
