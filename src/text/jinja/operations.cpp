#include "text/jinja/operations.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/format.h"
#include "text/jinja/format.h"
#include "text/jinja/search.h"
#include "text/jinja/strings.h"
#include "text/jinja/work.h"

namespace kinglet::jinja {
namespace {

Result<Value> checked(bool overflows, int64_t value) {
  if (overflows) return refusal("a whole number becomes too large");
  return Value::integer(value);
}

// Returns a text, list or tuple, repeated `n` times.
Result<Value> repeat(const Value& value, int64_t n) {
  const size_t size = value.is(Kind::text) ? value.as_text().size() : value.items().size();
  // Nothing can be repeated more often than could be counted.
  const auto times = size == 0 ? 0 : static_cast<size_t>(std::max<int64_t>(n, 0));
  const size_t most = value.is(Kind::text) ? Text::kMostBytes : kMostItems;
  if (times > 0 && size > most / times) return refusal("the result of a repetition is too long");
  if (value.is(Kind::text)) {
    Text text;
    for (size_t i = 0; i < times; ++i) text.append(value.as_text());
    return value.with_text(std::move(text));
  }
  List items;
  for (size_t i = 0; i < times; ++i) {
    items.insert(items.end(), value.items().begin(), value.items().end());
  }
  return value.is(Kind::list) ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

// Rounds towards minus infinity, as Python does.
int64_t floored(int64_t a, int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

// Source: Python's float_divmod(), whose quotient is consistent with its remainder.
double floored(double a, double b) {
  const double quotient = (a - rest_of(a, b)) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

Result<Value> power(int64_t x, int64_t y) {
  if (y < -4096 || y > 4096) return refusal("exponents above 4096 are not supported");
  if (y < 0 && x == 0) return refusal("division by zero");
  int64_t result = 1;
  bool overflows = false;
  for (int64_t i = 0; i < std::abs(y) && !overflows; ++i) {
    overflows = __builtin_mul_overflow(result, x, &result);
  }
  if (y < 0 && !overflows) return Value::real(1 / static_cast<double>(result));
  return checked(overflows, result);
}

Result<Value> operate_on_whole(char sign, int64_t x, int64_t y) {
  int64_t result = 0;
  switch (sign) {
    case '-': {
      const bool overflows = __builtin_sub_overflow(x, y, &result);
      return checked(overflows, result);
    }
    case '*': {
      const bool overflows = __builtin_mul_overflow(x, y, &result);
      return checked(overflows, result);
    }
    case '/': {
      constexpr int64_t kMostExact = int64_t{1} << 53;
      if (std::max(x, y) > kMostExact || std::min(x, y) < -kMostExact) {
        return refusal("the integers are too large for /");
      }
      return Value::real(static_cast<double>(x) / static_cast<double>(y));
    }
    case 'p':
      return power(x, y);
    default:
      break;
  }
  if (y == -1) return sign == '%' ? Value::integer(0) : operate_on_whole('-', 0, x);
  const int64_t quotient = floored(x, y);
  return Value::integer(sign == '%' ? x - quotient * y : quotient);
}

// Returns the range of the numbers at the positions [begin, end) by `step`.
Result<Value> cut_range(const Range& range, int64_t begin, int64_t end, int64_t step) {
  bool overflows = __builtin_mul_overflow(step, range.step, &step);
  for (int64_t* place : {&begin, &end}) {
    overflows = __builtin_mul_overflow(*place, range.step, place) || overflows;
    overflows = __builtin_add_overflow(*place, range.start, place) || overflows;
  }
  if (overflows) return refusal("a whole number becomes too large");
  return Value::range({begin, end, step});
}

}  // namespace

Result<Value> add(const Value& a, const Value& b) {
  if (a.is_whole() && b.is_whole()) {
    int64_t sum = 0;
    const bool overflows = __builtin_add_overflow(a.as_integer(), b.as_integer(), &sum);
    return checked(overflows, sum);
  }
  if (a.is_number() && b.is_number()) return Value::real(a.as_real() + b.as_real());
  if (a.is(Kind::text) && b.is(Kind::text)) {
    const bool escapes = a.is_markup() || b.is_markup();
    Text text = escapes ? escaped(a).as_text() : a.as_text();
    text.append(escapes ? escaped(b).as_text() : b.as_text());
    return escapes ? Value::markup(std::move(text)) : Value::text(std::move(text));
  }
  if (a.is_sequence() && a.kind() == b.kind()) {
    List items = a.items();
    items.insert(items.end(), b.items().begin(), b.items().end());
    return a.is(Kind::list) ? Value::list(std::move(items)) : Value::tuple(std::move(items));
  }
  return refusal(cat("cannot add ", a.type_name(), " and ", b.type_name()));
}

double rest_of(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) == (b < 0) ? rest : rest + b;
}

Result<Value> negated(const Value& value) {
  if (value.is(Kind::real)) return Value::real(-value.as_real());
  return operate("-", Value::integer(0), value);
}

Result<Value> operate(std::string_view spelled, const Value& a, const Value& b) {
  // One character for each operation: 'f' is "//", 'p' is "**".
  const char sign = spelled == "//" ? 'f' : spelled == "**" ? 'p' : spelled.front();
  if (sign == '+') return add(a, b);
  if (sign == '%' && a.is(Kind::text)) {
    if (a.is_markup()) return refusal("% formatting of an escaped string is not supported");
    KINGLET_ASSIGN(Text text, format_percent(a.as_text(), b));
    return Value::text(std::move(text));
  }
  const auto repeats = [](const Value& what, const Value& n) {
    return (what.is(Kind::text) || what.is_sequence()) && n.is_whole();
  };
  if (sign == '*' && repeats(a, b)) return repeat(a, b.as_integer());
  if (sign == '*' && repeats(b, a)) return repeat(b, a.as_integer());
  if (!a.is_number() || !b.is_number()) {
    return refusal(cat("cannot compute ", a.type_name(), " ", spelled, " ", b.type_name()));
  }
  const bool is_division = sign == '/' || sign == 'f' || sign == '%';
  if (is_division && b.as_real() == 0) return refusal("division by zero");
  if (a.is_whole() && b.is_whole()) return operate_on_whole(sign, a.as_integer(), b.as_integer());
  const double x = a.as_real();
  const double y = b.as_real();
  switch (sign) {
    case '-':
      return Value::real(x - y);
    case '*':
      return Value::real(x * y);
    case '/':
      return Value::real(x / y);
    case 'f':
      return Value::real(floored(x, y));
    case '%':
      return Value::real(rest_of(x, y));
    default:
      return refusal(cat("cannot compute float ", spelled, " here"));
  }
}

Result<Value> cut(const Value& value, const Slice& slice) {
  const bool is_text = value.is(Kind::text);
  if (!is_text && !value.has_places()) return refusal(cat("cannot slice ", value.type_name()));
  const auto n = is_text ? length(value.as_text()) : static_cast<int64_t>(value.items().size());
  const int64_t step = slice.step.value_or(1);
  if (step == 0) return refusal("the step of a slice must not be 0");
  const int64_t lowest = step > 0 ? 0 : -1;
  const int64_t highest = step > 0 ? n : n - 1;
  const auto place = [&](std::optional<int64_t> bound, int64_t otherwise) {
    if (!bound) return otherwise;
    const int64_t at = *bound < 0 ? *bound + n : *bound;
    return std::clamp(at, lowest, highest);
  };
  const int64_t begin = place(slice.begin, step > 0 ? 0 : n - 1);
  const int64_t end = place(slice.end, step > 0 ? n : -1);
  if (is_text && step == 1) {
    const Text& text = value.as_text();
    return value.with_text(text.cut(byte_of(text, begin), byte_of(text, std::max(begin, end))));
  }
  if (value.is(Kind::range)) return cut_range(value.as_range(), begin, end, step);
  KINGLET_ASSIGN(const Value through, elements(value));
  const List& items = through.items();
  Work::spend(items.size() * kOfItem);
  List kept;
  // The loop counts distances from `begin`, so that no sum overflows.
  const uint64_t distance = static_cast<uint64_t>(step > 0 ? end - begin : begin - end);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const bool is_empty = step > 0 ? begin >= end : begin <= end;
  for (uint64_t at = 0; !is_empty && at < distance; at += std::min(stride, distance)) {
    const int64_t i = begin + (step > 0 ? static_cast<int64_t>(at) : -static_cast<int64_t>(at));
    kept.push_back(items[static_cast<size_t>(i)]);
  }
  if (is_text) return value.with_text(join(kept, Text()));
  return value.is(Kind::list) ? Value::list(std::move(kept)) : Value::tuple(std::move(kept));
}

Result<bool> contains(const Value& whole, const Value& part) {
  if (whole.is(Kind::text)) {
    if (!part.is(Kind::text))
      return refusal(cat("\"in\" looks for str in a str, not for ", part.type_name()));
    return find_text(whole.as_bytes(), part.as_bytes()) != std::string_view::npos;
  }
  const bool has_keys = whole.is(Kind::dict) || whole.type_name() == "dict_keys";
  if (has_keys) KINGLET_TRY(check_key(part));
  KINGLET_ASSIGN(const Value through, elements(whole));
  const List& items = through.items();
  return std::find(items.begin(), items.end(), part) != items.end();
}

}  // namespace kinglet::jinja
