#include "text/jinja/text_filters.h"

#include <algorithm>
#include <cmath>

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/format.h"
#include "text/jinja/arguments.h"
#include "text/jinja/format.h"
#include "text/jinja/operations.h"
#include "text/jinja/strings.h"

namespace kinglet::jinja {
namespace {

// Escapes a text for URLs. For forms, spaces become "+", and slashes are escaped, too.
Text url_text(const Text& text, bool is_form) {
  constexpr std::string_view kPlain = "_.-~";
  Text out;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text.bytes()[at];
    const bool is_said = text.is_said(at);
    if (is_letter(c) || is_digit(c) || kPlain.find(c) != kPlain.npos || (c == '/' && !is_form)) {
      out.append(text.cut(at, at + 1));
    } else if (c == ' ' && is_form) {
      out.append("+", is_said);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      const char digits[] = {kHexDigits[byte >> 4], kHexDigits[byte & 15]};
      out.append("%", is_said);
      for (const char digit : digits) {
        const char upper = digit >= 'a' ? static_cast<char>(digit - 32) : digit;
        out.append(std::string_view(&upper, 1), is_said);
      }
    }
  }
  return out;
}

// Returns the value with its dicts sorted by their keys, as pprint prints them.
Result<Value> in_order(const Value& value) {
  if (value.is_sequence()) {
    List items;
    for (const Value& item : value.items()) {
      KINGLET_ASSIGN(Value ordered, in_order(item));
      items.push_back(std::move(ordered));
    }
    return value.is(Kind::list) ? Value::list(std::move(items)) : Value::tuple(std::move(items));
  }
  if (!value.is(Kind::dict)) return value;
  const auto& entries = value.entries().entries;
  List keys;
  for (const auto& [key, of_key] : entries) keys.push_back(key);
  KINGLET_ASSIGN(const std::vector<size_t> places, sorted_places(keys, false));
  Dict ordered;
  for (const size_t place : places) {
    KINGLET_ASSIGN(Value inner, in_order(entries[place].second));
    ordered.entries.emplace_back(entries[place].first, std::move(inner));
  }
  return Value::dict(std::move(ordered));
}

}  // namespace

Text centered(const Text& text, int64_t width, std::string_view fill) {
  const int64_t n = std::min(width, kMostWidth) - length(text);
  if (n <= 0) return text;
  const int64_t n_before = n / 2 + (n & width & 1);
  Text out;
  for (int64_t i = 0; i < n_before; ++i) out.append(fill);
  out.append(text);
  for (int64_t i = n_before; i < n; ++i) out.append(fill);
  return out;
}

Result<Value> format_filter(Arguments& arguments) {
  if (filtered(arguments).is_markup()) return refusal("format: not supported for escaped strings");
  const Text text = filtered(arguments).to_text();
  const List places(arguments.positional.begin() + 1, arguments.positional.end());
  Dict names;
  for (const auto& [name, value] : arguments.named) names.set(Value::text(name), value);
  if (!places.empty() && !names.entries.empty()) {
    return refusal("format: expected values by position or by name, not both");
  }
  const Value values = names.entries.empty() ? Value::tuple(places) : Value::dict(std::move(names));
  KINGLET_ASSIGN(Text filled, format_percent(text, values));
  return Value::text(std::move(filled));
}

Result<Value> pprint_filter(Arguments& arguments) {
  constexpr int64_t kWidth = 80;
  ArgumentReader reader("pprint", arguments);
  KINGLET_TRY(reader.check_end());
  KINGLET_ASSIGN(const Value value, in_order(filtered(arguments)));
  Text text = value.to_repr();
  if (length(text) > kWidth &&
      (value.is(Kind::text) || value.is_sequence() || value.is(Kind::dict))) {
    return refusal(cat("pprint: more than ", kWidth, " characters are not supported"));
  }
  return Value::text(std::move(text));
}

Result<Value> truncate_filter(Arguments& arguments) {
  ArgumentReader reader("truncate", arguments);
  const int64_t most = reader.take_integer("length", 255);
  const bool cuts_words = reader.take_truth("killwords", false);
  const Text end = reader.take_text("end", "...");
  const Value* given_leeway = reader.take("leeway");
  KINGLET_TRY(reader.check_end());
  const bool has_leeway = given_leeway != nullptr && !given_leeway->is(Kind::none);
  if (has_leeway && !given_leeway->is_whole())
    return refusal("truncate: expected an int as leeway");
  const int64_t leeway = has_leeway ? given_leeway->as_integer() : 5;
  const Value& value = filtered(arguments);
  const int64_t room = most - length(end);
  if (room < 0 || leeway < 0)
    return refusal(
        "truncate: expected a length of at least that of end, and a leeway of 0 or more");
  // A list that is not too long is returned unchanged.
  const bool is_text = value.is(Kind::text);
  if (value.is(Kind::generator)) return refusal("truncate: expected str, found generator");
  KINGLET_ASSIGN(const Value through, is_text ? value : elements(value));
  const int64_t size =
      is_text ? length(value.as_text()) : static_cast<int64_t>(through.items().size());
  if (size - leeway <= most) return value;
  if (!is_text) return refusal(cat("truncate: expected str, found ", value.type_name()));
  const Text& text = value.as_text();
  Text cut = text.cut(0, byte_of(text, room));
  const size_t blank = cuts_words ? std::string::npos : cut.bytes().rfind(' ');
  if (blank != std::string::npos) cut = cut.cut(0, blank);
  return add(value.with_text(std::move(cut)), Value::text(end));
}

Result<Value> urlencode_filter(Arguments& arguments) {
  ArgumentReader reader("urlencode", arguments);
  KINGLET_TRY(reader.check_end());
  const Value& value = filtered(arguments);
  if (!value.is(Kind::dict) && !value.has_items() && !value.is_undefined()) {
    return Value::text(url_text(characters_of(value), false));
  }
  Text out;
  const auto append = [&](const Value& name, const Value& of_name) {
    if (!out.empty()) out.append("&");
    out.append(url_text(characters_of(name), true));
    out.append("=");
    out.append(url_text(characters_of(of_name), true));
  };
  if (value.is(Kind::dict)) {
    for (const auto& [name, of_name] : value.entries().entries) append(name, of_name);
  } else {
    KINGLET_ASSIGN(const Value through, elements(value));
    for (const Value& item : through.items()) {
      KINGLET_ASSIGN(const Value pair, elements(item));
      if (pair.items().size() != 2) return refusal("urlencode: expected pairs");
      append(pair.items()[0], pair.items()[1]);
    }
  }
  return Value::text(std::move(out));
}

Result<Value> wordcount_filter(Arguments& arguments) {
  ArgumentReader reader("wordcount", arguments);
  KINGLET_TRY(reader.check_end());
  int64_t n = 0;
  bool is_inside = false;
  const Text text = characters_of(filtered(arguments));
  for (const char c : text.bytes()) {
    if (static_cast<unsigned char>(c) >= 0x80) {
      return refusal("wordcount: non-ASCII characters are not supported");
    }
    const bool is_word = is_letter(c) || is_digit(c) || c == '_';
    n += is_word && !is_inside ? 1 : 0;
    is_inside = is_word;
  }
  return Value::integer(n);
}

Result<Value> filesize_filter(Arguments& arguments) {
  ArgumentReader reader("filesizeformat", arguments);
  const bool is_binary = reader.take_truth("binary", false);
  KINGLET_TRY(reader.check_end());
  const Value& value = filtered(arguments);
  std::optional<double> size;
  if (value.is_number()) size = value.as_real();
  if (value.is(Kind::text)) size = read_number(strip(value.as_text(), "", Ends::both).bytes());
  if (!size) return refusal(cat("filesizeformat: expected a number, found ", value.type_name()));
  const double base = is_binary ? 1024 : 1000;
  if (*size == 1) return Value::text("1 Byte");
  if (*size < base) return Value::text(cat(fixed_text(std::trunc(*size), 0), " Bytes"));
  double unit = base;
  std::string_view prefixes("kMGTPEZY");
  for (; prefixes.size() > 1 && *size >= unit * base; unit *= base) prefixes.remove_prefix(1);
  const std::string prefix(1, is_binary && prefixes[0] == 'k' ? 'K' : prefixes[0]);
  // Keep this order of operations, which is Jinja's: it decides how ties round.
  return Value::text(
      cat(fixed_text(base * *size / (unit * base), 1), " ", prefix, is_binary ? "iB" : "B"));
}

}  // namespace kinglet::jinja
