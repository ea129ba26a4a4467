#include "text/jinja/json.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/format.h"
#include "base/json_escape.h"
#include "text/jinja/numbers.h"
#include "text/utf8.h"

namespace kinglet::jinja {
namespace {

constexpr int kMaxLevels = 100;

// Merges entries of the same key, as Python does: the first one's place, the last one's value. All
// keys are compared at the end, because Dict::set() compares each one with all before it.
Dict without_doubles(Dict&& dict) {
  auto& entries = dict.entries;
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto key = [&](size_t i) -> std::string_view { return entries[i].first.as_bytes(); };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const int order_of_keys = key(a).compare(key(b));
    return order_of_keys != 0 ? order_of_keys < 0 : a < b;
  });
  std::vector<bool> is_double(entries.size(), false);
  for (size_t begin = 0, i = 1; i < order.size(); ++i) {
    if (key(order[i]) != key(order[begin])) {
      begin = i;
      continue;
    }
    entries[order[begin]].second = entries[order[i]].second;
    is_double[order[i]] = true;
  }
  size_t n = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (is_double[i]) continue;
    if (n != i) entries[n] = std::move(entries[i]);
    ++n;
  }
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(n), entries.end());
  return std::move(dict);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Value> run() {
    KINGLET_ASSIGN(Value value, parse_value(0));
    skip_spaces();
    if (at_ < text_.size()) return failure("more after the value");
    return value;
  }

 private:
  Error failure(std::string_view what) const {
    return refusal(cat("this is not JSON: ", what, " at byte ", at_));
  }

  void skip_spaces() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) < 4) ++at_;
  }

  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Result<Value> parse_value(int depth) {
    if (depth > kMaxLevels) return failure("too many levels");
    skip_spaces();
    if (take("null")) return Value::none();
    if (take("true")) return Value::boolean(true);
    if (take("false")) return Value::boolean(false);
    if (take("[")) return parse_list(depth);
    if (take("{")) return parse_dict(depth);
    if (at_ < text_.size() && text_[at_] == '"') {
      KINGLET_ASSIGN(std::string text, parse_string());
      return Value::text(std::move(text), true);
    }
    return parse_number();
  }

  Result<Value> parse_list(int depth) {
    List items;
    skip_spaces();
    if (take("]")) return Value::list({});
    while (true) {
      KINGLET_ASSIGN(Value item, parse_value(depth + 1));
      items.push_back(std::move(item));
      skip_spaces();
      if (take("]")) return Value::list(std::move(items));
      if (!take(",")) return failure("expected \",\" or \"]\"");
    }
  }

  Result<Value> parse_dict(int depth) {
    Dict dict;
    skip_spaces();
    if (take("}")) return Value::dict({});
    while (true) {
      skip_spaces();
      if (at_ == text_.size() || text_[at_] != '"') return failure("expected a key");
      KINGLET_ASSIGN(std::string key, parse_string());
      skip_spaces();
      if (!take(":")) return failure("expected \":\"");
      KINGLET_ASSIGN(const Value value, parse_value(depth + 1));
      dict.entries.emplace_back(Value::text(std::move(key), true), value);
      skip_spaces();
      if (take("}")) return Value::dict(without_doubles(std::move(dict)));
      if (!take(",")) return failure("expected \",\" or \"}\"");
    }
  }

  // Parses four hexadecimal digits.
  Result<char32_t> parse_unit() {
    char32_t unit = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const auto digit = at_ < text_.size() ? hex_digit(text_[at_]) : std::nullopt;
      if (!digit) return failure("expected four digits");
      unit = unit * 16 + *digit;
    }
    return unit;
  }

  Status append_escape(std::string& out) {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    ++at_;
    if (const size_t known = kNames.find(c); known != std::string_view::npos) {
      out += kMeanings[known];
      return {};
    }
    if (c != 'u') return failure("an unknown escape");
    KINGLET_ASSIGN(char32_t code, parse_unit());
    if (code >= 0xd800 && code < 0xdc00 && take("\\u")) {
      KINGLET_ASSIGN(const char32_t low, parse_unit());
      const bool is_pair = low >= 0xdc00 && low < 0xe000;
      if (is_pair) code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code >= 0xd800 && code < 0xe000) return failure("half a surrogate pair");
    append_utf8(out, code);
    return {};
  }

  Result<std::string> parse_string() {
    std::string out;
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return failure("a control character");
      const char c = text_[at_++];
      if (c != '\\') {
        out += c;
      } else {
        KINGLET_TRY(append_escape(out));
      }
    }
    if (!take("\"")) return failure("a text does not end");
    return out;
  }

  Result<Value> parse_number() {
    const size_t begin = at_;
    while (at_ < text_.size() && std::string_view("+-0123456789.eE").find(text_[at_]) < 15) {
      ++at_;
    }
    const std::string_view digits = text_.substr(begin, at_ - begin);
    const std::string_view size = digits.substr(digits.starts_with('-') ? 1 : 0);
    if (!size.empty() && std::all_of(size.begin(), size.end(), is_digit)) {
      return Value::whole(digits);
    }
    const auto real = read_number(digits);
    if (real && !digits.starts_with('+')) return Value::real(*real);
    at_ = begin;
    return failure("expected a value");
  }

  std::string_view text_;
  size_t at_ = 0;
};

class Printer {
 public:
  explicit Printer(const JsonStyle& style) : style_(style) {}

  Status print(const Value& value, size_t depth) {
    if (depth > kMaxLevels) return refusal("tojson: too many levels");
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
        return refusal(cat("tojson: ", value.type_name(), " is no JSON"));
    }
  }

  Text take() { return std::move(out_); }

 private:
  static std::string number(double value) {
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

Result<Value> parse_json(std::string_view text) { return Parser(text).run(); }

Result<Text> print_json(const Value& value, const JsonStyle& style) {
  Printer printer(style);
  KINGLET_TRY(printer.print(value, 0));
  return printer.take();
}

}  // namespace kinglet::jinja
