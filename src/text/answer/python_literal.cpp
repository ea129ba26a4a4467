// Literals of Python. Source: The Python Language Reference, 2.4 to 2.7 and 6.2.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/format.h"
#include "base/utf8.h"
#include "json/escape.h"
#include "text/answer/literal.h"
#include "text/answer/marks.h"

namespace kinglet {

namespace {

constexpr size_t kMostWholeDigits = 4300;  // that Python converts to a decimal

uint32_t base_of(std::string_view number) {
  if (number.size() < 3 || number[0] != '0') return 10;
  const char mark = to_lower(number[1]);
  return mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
}

// Removes the underscores, which stand between two digits, or between a base and a digit.
std::optional<std::string> without_underscores(std::string_view text, uint32_t base) {
  const auto is_one = [base](char c) {
    return base == 10 ? is_digit(c) : hex_digit(c).has_value();
  };
  std::string digits;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '_') {
      digits += text[at];
      continue;
    }
    const bool is_behind = at > 0 && (is_one(text[at - 1]) || (base != 10 && at == 2));
    if (!is_behind || at + 1 == text.size() || !is_one(text[at + 1])) return std::nullopt;
  }
  return digits;
}

// Returns the decimal of a whole number.
std::optional<std::string> to_decimal(std::string_view digits, uint32_t base) {
  constexpr uint64_t kLimb = 1'000'000'000;
  constexpr size_t kLimbDigits = 9;
  std::vector<uint32_t> limbs = {0};  // the smallest first
  for (const char c : digits) {
    const auto digit = hex_digit(c);
    if (!digit || *digit >= base) return std::nullopt;
    uint64_t carry = *digit;
    for (uint32_t& limb : limbs) {
      carry += uint64_t{limb} * base;
      limb = static_cast<uint32_t>(carry % kLimb);
      carry /= kLimb;
    }
    if (carry > 0) limbs.push_back(static_cast<uint32_t>(carry));
    if (limbs.size() > kMostWholeDigits / kLimbDigits + 1) return std::nullopt;
  }
  std::string decimal = std::to_string(limbs.back());
  for (size_t i = limbs.size() - 1; i-- > 0;) {
    const std::string limb = std::to_string(limbs[i]);
    decimal.append(kLimbDigits - limb.size(), '0');
    decimal += limb;
  }
  return decimal;
}

// Returns a number with a point or an exponent.
std::optional<std::string> fraction(std::string_view text) {
  const auto value = is_digit(text[0]) || text[0] == '.' ? read_number(text) : std::nullopt;
  if (!value || !std::isfinite(*value)) return std::nullopt;
  // JSON has no zeros in front, and digits on both sides of the point.
  while (text.size() > 1 && text[0] == '0' && is_digit(text[1])) text.remove_prefix(1);
  std::string number = text[0] == '.' ? "0" : "";
  for (size_t at = 0; at < text.size(); ++at) {
    number += text[at];
    const bool is_bare = text[at] == '.' && (at + 1 == text.size() || !is_digit(text[at + 1]));
    if (is_bare) number += '0';
  }
  return number;
}

// How a string begins.
struct StringBegin {
  Reading reading = Reading::broken;
  size_t n_prefix = 0;
  bool is_raw = false;
};

// Strings without a value in JSON, such as b'' and f'', are broken.
StringBegin string_begin(std::string_view text) {
  size_t n = 0;
  while (n < text.size() && is_letter(text[n])) ++n;
  if (n == text.size()) return {Reading::open};
  if (text[n] != '"' && text[n] != '\'') return {};
  const char prefix = n == 1 ? to_lower(text[0]) : '\0';
  const bool is_text = n == 0 || prefix == 'u' || prefix == 'r';
  return {is_text ? Reading::whole : Reading::broken, n, prefix == 'r'};
}

// Appends a character of a string. Halves of surrogate pairs stay escapes.
void append_character(std::string& out, char32_t character) {
  if (character >= 0xd800 && character < 0xe000) {
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out += kHexDigits[character >> shift & 0xf];
    return;
  }
  std::string text;
  append_utf8(text, character);
  append_json_escaped(out, text);
}

// Returns the name that json.dumps() makes of a key; empty if it refuses the key.
std::string name_of_key(const std::string& json) {
  if (json[0] == '[' || json[0] == '{') return {};
  if (json[0] == '"') return json;
  const bool is_float = (is_digit(json.back()) && json.find_first_of(".eE") != json.npos);
  return cat("\"", is_float ? number_text(*read_number(json)) : json, "\"");
}

}  // namespace

std::optional<std::string> python_number(std::string_view text) {
  const uint32_t base = base_of(text);
  auto digits = without_underscores(text, base);
  if (!digits || digits->empty()) return std::nullopt;
  if (base != 10) return to_decimal(std::string_view(*digits).substr(2), base);
  const bool is_whole = std::all_of(digits->begin(), digits->end(), is_digit);
  if (!is_whole) return fraction(*digits);
  const bool is_zero = digits->find_first_not_of('0') == digits->npos;
  if (is_zero) return "0";
  if ((*digits)[0] == '0' || digits->size() > kMostWholeDigits) return std::nullopt;
  return digits;
}

Reading LiteralReader::python(std::string& out, int depth) {
  const bool is_nested = rest[0] == '{' || rest[0] == '[' || rest[0] == '(';
  if (is_nested && depth == kMostLiteralDepth) return Reading::broken;
  Reading read = Reading::broken;
  if (rest[0] == '{') {
    read = python_braces(out, depth);
    is_hashable = false;
  } else if (rest[0] == '[') {
    rest.remove_prefix(1);
    out += '[';
    skip_space();
    read = python_items(out, ']', nullptr, depth);
    is_hashable = false;
  } else if (rest[0] == '(') {
    read = python_parentheses(out, depth);
  } else {
    const StringBegin begin = string_begin(rest);
    is_hashable = true;
    read = begin.reading == Reading::whole ? python_strings(out) : python_word(out);
  }
  return read;
}

// Reads items and commas up to `end`; `out` ends with the bracket or with an item. Of a set, which
// has the values `known`, equal values are left out.
Reading LiteralReader::python_items(std::string& out, char end, std::set<std::string>* known,
                                    int depth) {
  bool are_hashable = true;
  for (bool needs_comma = !out.ends_with('[');;) {
    if (rest.empty()) return Reading::open;
    if (rest[0] == end) {
      rest.remove_prefix(1);
      out += ']';
      is_hashable = are_hashable;
      return Reading::whole;
    }
    if (needs_comma) {
      if (rest[0] != ',') return Reading::broken;
      rest.remove_prefix(1);
      skip_space();
      needs_comma = false;
      if (rest.empty() || rest[0] == end) continue;
    }
    const bool is_first = out.ends_with('[');
    std::string item;
    std::string& target = known == nullptr ? out : item;
    if (known == nullptr && !is_first) out += ',';
    if (const Reading read = nested(target, depth + 1); read != Reading::whole) return read;
    are_hashable = are_hashable && is_hashable;
    if (known != nullptr) {
      if (!is_hashable) return Reading::broken;
      if (known->insert(item).second) out += (is_first ? "" : ",") + item;
    }
    skip_space();
    needs_comma = true;
  }
}

// Reads a value in parentheses, or a tuple. Nothing is certain before the first comma.
Reading LiteralReader::python_parentheses(std::string& out, int depth) {
  rest.remove_prefix(1);
  skip_space();
  std::string first;
  if (!rest.starts_with(')')) {
    if (const Reading read = nested(first, depth + 1); read != Reading::whole) return read;
    const bool are_hashable = is_hashable;
    skip_space();
    if (rest.starts_with(')')) {
      rest.remove_prefix(1);
      out += first;
      return Reading::whole;
    }
    if (rest.empty()) return Reading::open;
    if (rest[0] != ',') return Reading::broken;
    out += '[' + first;
    const Reading read = python_items(out, ')', nullptr, depth);
    is_hashable = is_hashable && are_hashable;
    return read;
  }
  out += '[';
  return python_items(out, ')', nullptr, depth);
}

// Reads a dictionary or a set. Nothing is certain before the first key or value is whole.
Reading LiteralReader::python_braces(std::string& out, int depth) {
  rest.remove_prefix(1);
  skip_space();
  if (rest.starts_with('}')) {
    rest.remove_prefix(1);
    out += "{}";
    return Reading::whole;
  }
  std::string first;
  if (const Reading read = python_key(first, depth); read != Reading::whole) return read;
  if (rest.starts_with(':')) {
    out += '{';
    return python_pairs(out, std::move(first), depth);
  }
  if (!is_hashable) return Reading::broken;
  out += '[' + first;
  std::set<std::string> known = {std::move(first)};
  return python_items(out, '}', &known, depth);
}

// Reads the pairs of a dictionary, from the colon after the first key on.
Reading LiteralReader::python_pairs(std::string& out, std::string key, int depth) {
  while (true) {
    const std::string name = name_of_key(key);
    if (name.empty()) return Reading::broken;
    if (const Reading read = skip(":"); read != Reading::whole) return read;
    out += (out.ends_with('{') ? "" : ",") + name + ':';
    if (const Reading read = nested(out, depth + 1); read != Reading::whole) return read;
    skip_space();
    if (rest.starts_with(',')) {
      rest.remove_prefix(1);
      skip_space();
    } else if (!rest.empty() && rest[0] != '}') {
      return Reading::broken;
    }
    if (rest.empty()) return Reading::open;
    if (rest[0] == '}') {
      rest.remove_prefix(1);
      out += '}';
      return Reading::whole;
    }
    key.clear();
    if (const Reading read = python_key(key, depth); read != Reading::whole) return read;
  }
}

// Reads a key, or a value of a set, and the space behind it. A name without quotes is a key, too.
Reading LiteralReader::python_key(std::string& out, int depth) {
  const std::string_view begin = rest;
  const Reading read = nested(out, depth + 1);
  if (read == Reading::broken && (is_letter(begin[0]) || begin[0] == '_')) {
    const auto end = std::find_if_not(begin.begin(), begin.end(), is_literal_word);
    const auto n = static_cast<size_t>(end - begin.begin());
    out = cat("\"", begin.substr(0, n), "\"");
    rest = begin.substr(n);
    skip_space();
    if (rest.empty()) return Reading::open;
    return rest[0] == ':' ? Reading::whole : Reading::broken;
  }
  if (read != Reading::whole) return read;
  skip_space();
  return rest.empty() ? Reading::open : Reading::whole;
}

// Reads one string, or several that follow each other and make one.
Reading LiteralReader::python_strings(std::string& out) {
  out += '"';
  while (true) {
    const StringBegin begin = string_begin(rest);
    if (begin.reading == Reading::open) return Reading::open;
    if (begin.reading == Reading::broken) {
      const bool is_string = is_letter(rest[0]) && begin.n_prefix > 0;
      if (is_string) return Reading::broken;
      out += '"';
      return Reading::whole;
    }
    rest.remove_prefix(begin.n_prefix);
    if (const Reading read = python_string(begin.is_raw, out); read != Reading::whole) return read;
    skip_space();
    if (rest.empty()) return Reading::open;
  }
}

Reading LiteralReader::python_string(bool is_raw, std::string& out) {
  const std::string triple(3, rest[0]);
  // Two quotation marks are an empty string, or begin three.
  if (rest.size() < 3 && triple.starts_with(rest)) return Reading::open;
  const bool is_triple = rest.starts_with(triple);
  const std::string_view end = std::string_view(triple).substr(0, is_triple ? 3 : 1);
  rest.remove_prefix(end.size());
  while (!rest.empty()) {
    if (rest.starts_with(end)) {
      rest.remove_prefix(end.size());
      return Reading::whole;
    }
    if (end.starts_with(rest)) return Reading::open;
    if (rest[0] == '\\' && !is_raw) {
      if (const Reading read = python_escape(out); read != Reading::whole) return read;
      continue;
    }
    const size_t n = rest[0] == '\\' ? 2 : 1;  // a raw string keeps the character, even its mark
    if (rest.size() < n) return Reading::open;
    append_json_escaped(out, rest.substr(0, n));
    rest.remove_prefix(n);
  }
  return Reading::open;
}

Reading LiteralReader::python_escape(std::string& out) {
  constexpr std::string_view kNames = "\\'\"abfnrtv\n";
  constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
  if (rest.size() < 2) return Reading::open;
  const char escaped = rest[1];
  if (const size_t known = kNames.find(escaped); known != kNames.npos) {
    append_json_escaped(out, kMeanings.substr(known, 1));  // a line break is left out
    rest.remove_prefix(2);
    return Reading::whole;
  }
  if (escaped == '\r') {
    if (rest.size() < 3) return Reading::open;
    rest.remove_prefix(rest[2] == '\n' ? 3 : 2);
    return Reading::whole;
  }
  if (escaped == 'N') return Reading::broken;
  const size_t n_digits = escaped == 'x' ? 2 : escaped == 'u' ? 4 : escaped == 'U' ? 8 : 0;
  if (n_digits > 0) {
    const std::string_view digits = rest.substr(2, n_digits);
    const auto character = hex_number(digits, digits.size());
    if (!character || *character > 0x10ffff) return Reading::broken;
    if (digits.size() < n_digits) return Reading::open;
    append_character(out, *character);
    rest.remove_prefix(2 + n_digits);
    return Reading::whole;
  }
  constexpr std::string_view kOctalDigits = "01234567";
  const size_t n_octal =
      std::min<size_t>(std::min(rest.find_first_not_of(kOctalDigits, 1), rest.size()) - 1, 3);
  if (n_octal == 0) {  // an unknown escape is ordinary text
    append_json_escaped(out, "\\");
    rest.remove_prefix(1);
    return Reading::whole;
  }
  if (n_octal < 3 && rest.size() == 1 + n_octal) return Reading::open;
  char32_t character = 0;
  for (const char c : rest.substr(1, n_octal)) {
    character = character * 8 + static_cast<char32_t>(c - '0');
  }
  append_character(out, character);
  rest.remove_prefix(1 + n_octal);
  return Reading::whole;
}

Reading LiteralReader::python_word(std::string& out) {
  const bool is_negative = rest[0] == '-';
  const bool has_sign = is_negative || rest[0] == '+';
  if (has_sign) {
    rest.remove_prefix(1);
    skip_space();
  }
  const auto n = static_cast<size_t>(std::find_if_not(rest.begin(), rest.end(), is_literal_word) -
                                     rest.begin());
  if (n == rest.size()) return Reading::open;
  const std::string_view word = rest.substr(0, n);
  rest.remove_prefix(n);
  if (const auto number = python_number(word)) {
    out += is_negative && *number != "0" ? '-' + *number : *number;
    return Reading::whole;
  }
  if (has_sign) return Reading::broken;
  if (word == "set") {  // the empty set: {} is a dictionary
    Reading read = skip("(");
    if (read == Reading::whole) read = skip(")");
    if (read == Reading::whole) out += "[]";
    is_hashable = false;
    return read;
  }
  const std::string_view json = word == "True" || word == "true"     ? "true"
                                : word == "False" || word == "false" ? "false"
                                : word == "None" || word == "null"   ? "null"
                                                                     : "";
  out += json;
  return json.empty() ? Reading::broken : Reading::whole;
}

}  // namespace kinglet
