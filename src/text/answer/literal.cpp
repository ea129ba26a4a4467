#include "text/answer/literal.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/utf8.h"
#include "json/escape.h"
#include "text/answer/marks.h"

namespace kinglet {

namespace {

size_t skip_digits(std::string_view text, size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

}  // namespace

bool is_literal_word(char c) {
  return is_digit(c) || is_letter(c) || c == '_' || c == '.' || c == '+' || c == '-';
}

bool is_json_number(std::string_view text) {
  size_t at = text.starts_with('-') ? 1 : 0;
  const size_t end = skip_digits(text, at);
  if (end == at || (text[at] == '0' && end > at + 1)) return false;
  at = end;
  if (at < text.size() && text[at] == '.') {
    const size_t fraction = at + 1;
    at = skip_digits(text, fraction);
    if (at == fraction) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const size_t exponent = at;
    at = skip_digits(text, exponent);
    if (at == exponent) return false;
  }
  return at == text.size();
}

std::optional<char32_t> hex_number(std::string_view text, size_t n_digits) {
  if (text.size() < n_digits) return std::nullopt;
  char32_t number = 0;
  for (const char c : text.substr(0, n_digits)) {
    const auto digit = hex_digit(c);
    if (!digit) return std::nullopt;
    number = number * 16 + *digit;
  }
  return number;
}

void LiteralReader::skip_space() {
  rest = without_leading_space(rest);
  if (dialect == Dialect::json) return;
  while (rest.starts_with('#') || rest.starts_with('\f')) {
    rest.remove_prefix(rest[0] == '#' ? std::min(rest.find('\n'), rest.size()) : 1);
    rest = without_leading_space(rest);
  }
}

Reading LiteralReader::skip(std::string_view text) {
  skip_space();
  const size_t n = std::min(rest.size(), text.size());
  if (rest.substr(0, n) != text.substr(0, n)) return Reading::broken;
  if (n < text.size()) return Reading::open;
  rest.remove_prefix(n);
  return Reading::whole;
}

Reading LiteralReader::value(std::string& out) { return nested(out, 0); }

Reading LiteralReader::nested(std::string& out, int depth) {
  skip_space();
  if (rest.empty()) return Reading::open;
  if (dialect == Dialect::python) return python(out, depth);
  if (rest[0] == '{' || rest[0] == '[') {
    return depth < kMostLiteralDepth ? collection(out, depth) : Reading::broken;
  }
  if (begins_string()) {
    return string(out);
  }
  return word(out);
}

Reading LiteralReader::collection(std::string& out, int depth) {
  const bool is_object = rest[0] == '{';
  const char end = is_object ? '}' : ']';
  out += rest[0];
  rest.remove_prefix(1);
  for (bool is_first = true;; is_first = false) {
    skip_space();
    if (!is_first && rest.starts_with(',')) {
      rest.remove_prefix(1);
      skip_space();
    } else if (!is_first && !rest.empty() && rest[0] != end) {
      return Reading::broken;
    }
    if (rest.empty()) return Reading::open;
    if (rest[0] == end) {
      out += end;
      rest.remove_prefix(1);
      return Reading::whole;
    }
    if (!is_first) out += ',';
    if (is_object) {
      if (const Reading read = key(out); read != Reading::whole) return read;
    }
    if (const Reading read = nested(out, depth + 1); read != Reading::whole) return read;
  }
}

Reading LiteralReader::key(std::string& out) {
  if (begins_string()) {
    if (const Reading read = string(out); read != Reading::whole) return read;
  } else {
    const size_t n = rest.find_first_of(":,{}[]");
    if (n == std::string_view::npos) return Reading::open;
    if (rest[n] != ':') return Reading::broken;
    out += '"';
    append_json_escaped(out, without_trailing_space(rest.substr(0, n)));
    out += '"';
    rest.remove_prefix(n);
  }
  const Reading read = skip(":");
  if (read == Reading::whole) out += ':';
  return read;
}

bool LiteralReader::begins_string() const {
  return is_quoted() || (!quote.empty() && quote.starts_with(rest[0]));
}

Reading LiteralReader::string(std::string& out) {
  return is_quoted() ? quoted_string(out) : marked_string(out);
}

Reading LiteralReader::marked_string(std::string& out) {
  if (const Reading read = skip(quote); read != Reading::whole) return read;
  const size_t end = rest.find(quote);
  out += '"';
  if (end == std::string_view::npos) {
    append_json_escaped(out, rest.substr(0, rest.size() - unfinished_mark(rest, quote)));
    return Reading::open;
  }
  append_json_escaped(out, rest.substr(0, end));
  out += '"';
  rest.remove_prefix(end + quote.size());
  return Reading::whole;
}

Reading LiteralReader::quoted_string(std::string& out) {
  const char end = rest[0];
  out += '"';
  for (size_t at = 1; at < rest.size(); ++at) {
    if (rest[at] == end) {
      out += '"';
      rest.remove_prefix(at + 1);
      return Reading::whole;
    }
    if (rest[at] != '\\') {
      append_json_escaped(out, rest.substr(at, 1));
      continue;
    }
    ++at;
    if (at == rest.size()) break;
    switch (const char escaped = rest[at]) {
      case 'b':
      case 'f':
      case 'n':
      case 'r':
      case 't':
      case '/':
        out += '\\';
        out += escaped;
        break;
      case 'u':
        if (rest.size() - at < 5) return Reading::open;
        if (!hex_number(rest.substr(at + 1), 4)) return Reading::broken;
        out += '\\';
        out += rest.substr(at, 5);
        at += 4;
        break;
      case '"':
      case '\'':
      case '\\':
        append_json_escaped(out, rest.substr(at, 1));
        break;
      default:  // an unknown escape keeps its backslash, as in Python
        out += "\\\\";
        append_json_escaped(out, rest.substr(at, 1));
    }
  }
  return Reading::open;
}

Reading LiteralReader::word(std::string& out) {
  const size_t n = static_cast<size_t>(std::find_if_not(rest.begin(), rest.end(), is_literal_word) -
                                       rest.begin());
  if (n == rest.size()) return Reading::open;
  const std::string_view word = rest.substr(0, n);
  if (word == "True" || word == "true") {
    out += "true";
  } else if (word == "False" || word == "false") {
    out += "false";
  } else if (word == "None" || word == "null") {
    out += "null";
  } else if (is_json_number(word)) {
    out += word;
  } else {
    return Reading::broken;
  }
  rest.remove_prefix(n);
  return Reading::whole;
}

Reading LiteralReader::plain_string(std::string& out) {
  constexpr std::string_view kNames = "bfnrt";
  constexpr std::string_view kMeanings = "\b\f\n\r\t";
  skip_space();
  if (rest.empty()) return Reading::open;
  if (!is_quoted()) return Reading::broken;
  std::string json;
  if (const Reading read = quoted_string(json); read != Reading::whole) return read;
  for (size_t at = 1; at + 1 < json.size(); ++at) {
    if (json[at] != '\\') {
      out += json[at];
      continue;
    }
    const char escaped = json[++at];
    if (const size_t known = kNames.find(escaped); known != kNames.npos) {
      out += kMeanings[known];
    } else if (escaped == 'u') {
      const std::string_view digits = std::string_view(json).substr(at + 1);
      char32_t character = hex_number(digits, 4).value_or(0);
      at += 4;
      const std::string_view next = digits.substr(4);
      const char32_t low = next.starts_with("\\u") ? hex_number(next.substr(2), 4).value_or(0) : 0;
      if (character >= 0xD800 && character < 0xDC00 && low >= 0xDC00 && low < 0xE000) {
        character = 0x10000 + ((character - 0xD800) << 10) + (low - 0xDC00);
        at += 6;
      }
      const bool is_half = character >= 0xD800 && character < 0xE000;
      append_utf8(out, is_half ? kReplacementCharacter : character);
    } else {
      out += escaped;
    }
  }
  return Reading::whole;
}

bool read_whole_value(std::string_view text, Dialect dialect, std::string& out) {
  // A number counts as whole only if something follows it.
  const std::string ended = std::string(without_trailing_space(text)) + ',';
  LiteralReader reader{.rest = ended, .quote = {}, .dialect = dialect};
  std::string json;
  if (reader.value(json) != Reading::whole || reader.rest != ",") return false;
  out += json;
  return true;
}

}  // namespace kinglet
