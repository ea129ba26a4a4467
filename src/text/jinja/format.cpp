// Source: Python's documentation, "printf-style String Formatting" and "Format String Syntax".
#include "text/jinja/format.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "text/jinja/functions.h"
#include "text/jinja/strings.h"
#include "text/jinja/work.h"

namespace kinglet::jinja {
namespace {

constexpr size_t kMostFieldWidth = 1000;

// The format of a value in its place.
struct Layout {
  std::string fill{" "};  // one character
  char align = '\0';      // <, >, ^, or = (fill between sign and digits); '\0': the type's default
  char sign = '-';
  char grouping = '\0';
  size_t width = 0;
  std::optional<size_t> precision;
  char type = '\0';
};

class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool at_end() const { return text_.empty(); }
  char here() const { return text_.empty() ? '\0' : text_.front(); }
  char take() {
    const char c = here();
    if (!text_.empty()) text_.remove_prefix(1);
    return c;
  }
  bool take(char c) { return here() == c && !text_.empty() && take() == c; }
  // Takes a number, limited to kMostFieldWidth + 1; nullopt if there is none.
  std::optional<size_t> take_number() {
    if (!is_digit(here())) return std::nullopt;
    size_t number = 0;
    while (is_digit(here())) {
      number = std::min(number * 10 + static_cast<size_t>(take() - '0'), kMostFieldWidth + 1);
    }
    return number;
  }
  std::string_view rest() const { return text_; }
  void skip(size_t n) { text_.remove_prefix(std::min(n, text_.size())); }

 private:
  std::string_view text_;
};

Text padded(const Text& text, const Layout& layout, char own_align) {
  const auto size = static_cast<size_t>(length(text));
  if (size >= layout.width) return text;
  const size_t n = layout.width - size;
  const char align = layout.align == '\0' ? own_align : layout.align;
  const size_t n_before = align == '<' ? 0 : align == '^' ? n / 2 : n;
  Text out;
  for (size_t i = 0; i < n_before; ++i) out.append(layout.fill);
  out.append(text);
  for (size_t i = n_before; i < n; ++i) out.append(layout.fill);
  return out;
}

// Returns the digits in groups of `n`, with a separator between groups.
std::string grouped(std::string_view digits, char separator, size_t n) {
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % n == 0) out += separator;
    out += digits[i];
  }
  return out;
}

std::string digits_of(uint64_t number, unsigned base) {
  std::string digits;
  do {
    digits += kHexDigits[number % base];
    number /= base;
  } while (number > 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

// Returns a number's sign and digits in the layout.
Text place_number(bool is_negative, const std::string& digits, const Layout& layout,
                  size_t group = 3) {
  const std::string sign = is_negative          ? "-"
                           : layout.sign == '-' ? ""
                                                : std::string(1, layout.sign);
  const size_t n_whole = std::min(digits.find_first_not_of(kHexDigits), digits.size());
  std::string whole = digits.substr(0, n_whole);
  const std::string decimals = digits.substr(n_whole);
  const auto spelled = [&] {
    return layout.grouping == '\0' ? whole : grouped(whole, layout.grouping, group);
  };
  const bool fills_inside = layout.align == '=';
  if (fills_inside && layout.fill == "0" && layout.grouping != '\0') {
    while (sign.size() + spelled().size() + decimals.size() < layout.width) whole.insert(0, "0");
  }
  std::string number = spelled() + decimals;
  if (fills_inside) {
    Layout inside = layout;
    inside.align = '>';
    inside.width -= std::min(inside.width, sign.size());
    Text out(sign);
    out.append(padded(Text(number), inside, '>'));
    return out;
  }
  return padded(Text(sign + number), layout, '>');
}

std::string upper_case(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return text;
}

Text place_real(double value, const Layout& layout) {
  const bool is_share = layout.type == '%';
  constexpr size_t kOwnPrecision = 6;
  const size_t precision = layout.precision.value_or(kOwnPrecision);
  const double size = std::fabs(is_share ? value * 100 : value);
  Work::spend(work_of_real(size, precision));
  const char type = to_lower(layout.type);
  std::string digits = type == '\0'  ? number_text(size)
                       : type == 'e' ? exponent_text(size, precision)
                       : type == 'g' ? general_text(size, precision)
                                     : fixed_text(size, precision);
  if (is_share) digits += "%";
  if (type != layout.type) digits = upper_case(std::move(digits));
  return place_number(std::signbit(value) && !std::isnan(value), digits, layout);
}

Text place_whole(int64_t value, const Layout& layout) {
  const unsigned base = layout.type == 'b'                         ? 2
                        : layout.type == 'o'                       ? 8
                        : layout.type == 'x' || layout.type == 'X' ? 16
                                                                   : 10;
  const uint64_t size = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::string digits = digits_of(size, base);
  if (layout.type == 'X') digits = upper_case(std::move(digits));
  if (layout.precision && digits.size() < *layout.precision) {
    digits.insert(0, *layout.precision - digits.size(), '0');
  }
  return place_number(value < 0, digits, layout, base == 10 ? 3 : 4);
}

Text place_text(const Text& text, const Layout& layout, char own_align) {
  if (!layout.precision) return padded(text, layout, own_align);
  return padded(text.cut(0, byte_of(text, static_cast<int64_t>(*layout.precision))), layout,
                own_align);
}

// --- %

class PercentFormat {
 public:
  PercentFormat(const Text& text, const Value& values)
      : text_(text),
        values_(values),
        given_(values.is(Kind::tuple) ? values.items() : List{values}) {}

  Result<Text> run() {
    Text out;
    for (size_t at = 0; at < text_.size() && !out.is_full() && Work::spend(kOfItem);) {
      const size_t sign = std::min(text_.bytes().find('%', at), text_.size());
      out.append(text_.cut(at, sign));
      if (sign == text_.size()) break;
      Cursor cursor(std::string_view(text_.bytes()).substr(sign + 1));
      KINGLET_ASSIGN(const Value part, fill(cursor));
      Work::spend(part.as_text().size());
      out.append(part.as_text());
      at = text_.size() - cursor.rest().size();
    }
    // A dict, a list and an undefined value may stay unused.
    const bool may_be_left =
        values_.is(Kind::dict) || values_.is(Kind::list) || values_.is_undefined();
    if (!may_be_left && n_used_ < given_.size()) return unfit();
    return out;
  }

 private:
  Error unfit() const {
    return refusal(cat("% formatting: the values do not match ", in_quotes(text_.bytes())));
  }

  Result<Value> fill(Cursor& cursor) {
    Layout layout;
    const Value* value = nullptr;
    if (cursor.take('(')) {
      const size_t end = cursor.rest().find(')');
      if (end == std::string_view::npos || !values_.is(Kind::dict)) return unfit();
      value = values_.entries().find(cursor.rest().substr(0, end));
      if (value == nullptr) return unfit();
      cursor.skip(end + 1);
    }
    bool fills_zeros = false;
    for (bool is_flag = true; is_flag;) {
      is_flag = true;
      if (cursor.take('-')) {
        layout.align = '<';
      } else if (cursor.take('0')) {
        fills_zeros = true;
      } else if (cursor.take('+')) {
        layout.sign = '+';
      } else if (cursor.take(' ')) {
        if (layout.sign == '-') layout.sign = ' ';
      } else {
        is_flag = false;
      }
    }
    layout.width = cursor.take_number().value_or(0);
    if (cursor.take('.')) layout.precision = cursor.take_number().value_or(0);
    layout.type = cursor.take();
    if (layout.type == '%') return Value::text("%");
    if (layout.width > kMostFieldWidth || layout.precision.value_or(0) > kMostFieldWidth)
      return unfit();
    if (value == nullptr) {
      if (n_used_ >= given_.size()) return unfit();
      value = &given_[n_used_++];
    }
    if (layout.type == 's') return Value::text(place_text(value->to_text(), layout, '>'));
    if (layout.type == 'r') return Value::text(place_text(value->to_repr(), layout, '>'));
    if (fills_zeros && layout.align == '\0') {
      layout.fill = "0";
      layout.align = '=';
    }
    return number(*value, layout);
  }

  Result<Value> number(const Value& value, Layout& layout) const {
    if (!value.is_number()) return unfit();
    const std::string_view types("diuxXoeEfFgG");
    if (layout.type == '\0' || types.find(layout.type) == std::string_view::npos) {
      return refusal(cat("% formatting: %", std::string(1, layout.type), " is not supported"));
    }
    if (std::string_view("eEfFgG").find(layout.type) != std::string_view::npos) {
      return Value::text(place_real(value.as_real(), layout));
    }
    const bool is_decimal = layout.type == 'd' || layout.type == 'i' || layout.type == 'u';
    if (value.is_whole()) return Value::text(place_whole(value.as_integer(), layout));
    if (!is_decimal || !(std::fabs(value.as_real()) < 0x1p62)) return unfit();
    return Value::text(place_whole(static_cast<int64_t>(value.as_real()), layout));
  }

  const Text& text_;
  const Value& values_;
  const List given_;
  size_t n_used_ = 0;
};

// --- {}

// Reads the part of a field after the colon.
Result<Layout> read_layout(std::string_view spelled) {
  Layout layout;
  Cursor cursor(spelled);
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  const size_t first = spelled.empty() ? 0 : byte_of(Text(spelled), 1);
  if (first < spelled.size() && is_align(spelled[first])) {
    layout.fill = spelled.substr(0, first);
    cursor.skip(first);
    layout.align = cursor.take();
  } else if (is_align(cursor.here())) {
    layout.align = cursor.take();
  }
  if (cursor.here() == '+' || cursor.here() == '-' || cursor.here() == ' ') {
    layout.sign = cursor.take();
  }
  if (cursor.take('0') && layout.align == '\0') {
    layout.fill = "0";
    layout.align = '0';
  }
  layout.width = cursor.take_number().value_or(0);
  if (cursor.here() == ',' || cursor.here() == '_') layout.grouping = cursor.take();
  if (cursor.take('.')) {
    layout.precision = cursor.take_number();
    if (!layout.precision) return refusal("format: expected a number after the point");
  }
  layout.type = cursor.take();
  const bool is_too_wide =
      layout.width > kMostFieldWidth || layout.precision.value_or(0) > kMostFieldWidth;
  if (!cursor.at_end() || is_too_wide) {
    return refusal(cat("format: ", in_quotes(spelled), " is not supported"));
  }
  return layout;
}

Result<Value> place_value(const Value& value, std::string_view spelled) {
  if (spelled.empty()) return Value::text(value.to_text());
  KINGLET_ASSIGN(Layout layout, read_layout(spelled));
  const auto unfit = [&] {
    return refusal(cat("format: ", in_quotes(spelled), " does not fit ", value.type_name()));
  };
  const auto is_one_of = [&](std::string_view types) {
    return layout.type == '\0' || types.find(layout.type) != std::string_view::npos;
  };
  if (value.is(Kind::text)) {
    const bool is_plain = layout.align != '=' && layout.sign == '-' && layout.grouping == '\0';
    if (!is_plain || !is_one_of("s")) return unfit();
    if (layout.align == '0') layout.align = '<';
    return Value::text(place_text(value.as_text(), layout, '<'));
  }
  if (!value.is_number()) return unfit();
  if (layout.align == '0') layout.align = '=';
  if (value.is_whole() && is_one_of("dboxX")) {
    const bool is_decimal = layout.type == '\0' || layout.type == 'd';
    if (layout.precision || (layout.grouping == ',' && !is_decimal)) return unfit();
    return Value::text(place_whole(value.as_integer(), layout));
  }
  if (!is_one_of("eEfFgG%") || (layout.type == '\0' && layout.precision)) return unfit();
  return Value::text(place_real(value.as_real(), layout));
}

class BraceFormat {
 public:
  BraceFormat(const Text& text, const Arguments& arguments) : text_(text), arguments_(arguments) {}

  Result<Text> run() {
    Text out;
    const std::string& bytes = text_.bytes();
    for (size_t at = 0; at < bytes.size() && !out.is_full() && Work::spend(kOfItem);) {
      const size_t bracket = std::min(bytes.find_first_of("{}", at), bytes.size());
      out.append(text_.cut(at, bracket));
      if (bracket == bytes.size()) break;
      at = bracket + 2;
      if (bracket + 1 < bytes.size() && bytes[bracket + 1] == bytes[bracket]) {
        out.append(text_.cut(bracket, bracket + 1));
        continue;
      }
      const size_t end = bytes.find('}', bracket);
      if (bytes[bracket] == '}' || end == std::string::npos) {
        return refusal("format: a brace has no counterpart");
      }
      const std::string_view field = std::string_view(bytes).substr(bracket + 1, end - bracket - 1);
      KINGLET_ASSIGN(const Value part, fill(field));
      Work::spend(part.as_text().size());
      out.append(part.as_text());
      at = end + 1;
    }
    return out;
  }

 private:
  Result<Value> fill(std::string_view field) {
    if (field.find('{') != std::string_view::npos) {
      return refusal("format: nested braces are not supported");
    }
    const size_t colon = std::min(field.find(':'), field.size());
    const std::string_view layout = field.substr(std::min(colon + 1, field.size()));
    const std::string_view named = field.substr(0, colon);
    const size_t mark = std::min(named.find('!'), named.size());
    const std::string_view conversion = named.substr(mark);
    KINGLET_ASSIGN(Value value, look_up(named.substr(0, mark)));
    if (conversion == "!r") {
      value = Value::text(value.to_repr());
    } else if (conversion == "!s") {
      value = Value::text(value.to_text());
    } else if (!conversion.empty()) {
      return refusal(cat("format: ", conversion, " is not supported"));
    }
    return place_value(value, layout);
  }

  Result<Value> look_up(std::string_view path) {
    const size_t end = std::min(path.find_first_of(".["), path.size());
    KINGLET_ASSIGN(Value value, argument(path.substr(0, end)));
    Cursor cursor(path.substr(end));
    while (!cursor.at_end()) {
      const bool is_element = cursor.take() == '[';
      const size_t size = is_element
                              ? cursor.rest().find(']')
                              : std::min(cursor.rest().find_first_of(".["), cursor.rest().size());
      if (size == std::string_view::npos || size == 0)
        return refusal("format: an attribute name is empty");
      const std::string_view name = cursor.rest().substr(0, size);
      cursor.skip(size + (is_element ? 1 : 0));
      const auto number = is_digit(name.front()) ? read_whole(name) : std::nullopt;
      KINGLET_ASSIGN(value, !is_element ? attribute(value, name)
                            : number    ? element(value, Value::integer(*number))
                                        : element(value, Value::text(name)));
    }
    return value;
  }

  Result<Value> argument(std::string_view name) {
    const auto unknown = [&] { return refusal(cat("format: {", name, "} is not supported")); };
    const List& given = arguments_.positional;
    if (!name.empty() && !is_digit(name.front())) {
      for (const auto& [known, value] : arguments_.named) {
        if (known == name) return value;
      }
      return unknown();
    }
    // Either all places have numbers, or none.
    (name.empty() ? counts_ : is_numbered_) = true;
    const auto number = read_whole(name);
    const size_t i = number ? static_cast<size_t>(*number) : n_used_++;
    if ((counts_ && is_numbered_) || (!name.empty() && !number) || i >= given.size()) {
      return unknown();
    }
    return given[i];
  }

  const Text& text_;
  const Arguments& arguments_;
  size_t n_used_ = 0;
  bool counts_ = false;
  bool is_numbered_ = false;
};

}  // namespace

Result<Text> format_percent(const Text& text, const Value& values) {
  return PercentFormat(text, values).run();
}

Result<Text> format_braces(const Text& text, const Arguments& arguments) {
  return BraceFormat(text, arguments).run();
}

}  // namespace kinglet::jinja
