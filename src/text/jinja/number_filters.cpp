#include "text/jinja/number_filters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/format.h"
#include "base/utf8.h"
#include "text/jinja/arguments.h"
#include "text/jinja/operations.h"
#include "text/jinja/strings.h"
#include "text/jinja/work.h"

namespace kinglet::jinja {
namespace {

// Whether `code` is in a range that has digits of other scripts.
bool may_be_digit(char32_t code) {
  return (code >= 0x660 && code < 0x1a9a) || (code >= 0xa620 && code < 0xabfa) ||
         (code >= 0xff10 && code < 0xff1a) || (code >= 0x104a0 && code < 0x1fbfa);
}

// Returns the text as Python reads numbers: without white space around it and without underscores
// between digits. Fails with ErrorCode::invalid_argument if the text may have digits of other
// scripts.
Result<std::string> spelled_number(const Text& text) {
  const std::string bytes = strip(text, "", Ends::both).bytes();
  std::string spelled;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (may_be_digit(decode_utf8(std::string_view(bytes).substr(i)).code_point)) {
      return refusal("non-ASCII digits are not supported");
    }
    const bool is_between = bytes[i] == '_' && i > 0 && i + 1 < bytes.size() &&
                            is_digit(bytes[i - 1]) && is_digit(bytes[i + 1]);
    if (!is_between) spelled += bytes[i];
  }
  return spelled;
}

std::optional<double> read_real(std::string_view spelled) {
  if (const auto number = read_number(spelled)) {
    Work::spend(work_of_real(*number));
    return number;
  }
  const bool is_negative = spelled.starts_with('-');
  if (is_negative || spelled.starts_with('+')) spelled.remove_prefix(1);
  for (const std::string_view name : {"inf", "infinity", "nan"}) {
    if (!equal_ignoring_case(spelled, name)) continue;
    const double value = name == "nan" ? std::numeric_limits<double>::quiet_NaN() : HUGE_VAL;
    return is_negative ? -value : value;
  }
  return std::nullopt;
}

// Whether the text is an optional sign and digits.
bool is_whole(std::string_view spelled) {
  if (spelled.starts_with('-') || spelled.starts_with('+')) spelled.remove_prefix(1);
  return !spelled.empty() && std::all_of(spelled.begin(), spelled.end(), is_digit);
}

// Returns the value of digits (of this base, in lower case) in base 10.
std::string to_decimal(std::string_view digits, uint64_t base) {
  constexpr uint64_t kLimb = 1'000'000'000;
  std::vector<uint64_t> limbs;  // the lowest first
  for (const char c : digits) {
    uint64_t carry =
        is_digit(c) ? static_cast<uint64_t>(c - '0') : static_cast<uint64_t>(c - 'a') + 10;
    Work::spend(limbs.size() * kOfSearching);
    for (uint64_t& limb : limbs) {
      carry += limb * base;
      limb = carry % kLimb;
      carry /= kLimb;
    }
    if (carry > 0) limbs.push_back(carry);
  }
  std::string text;
  for (size_t i = limbs.size(); i-- > 0;) {
    const std::string limb = cat(limbs[i]);
    if (!text.empty()) text.append(9 - limb.size(), '0');
    text += limb;
  }
  return text.empty() ? "0" : text;
}

// Returns int(text, base) of Python; None where this fails. Fails with ErrorCode::invalid_argument
// for numbers of more digits than Python prints.
Result<Value> read_whole_of_base(const Text& text, int64_t base) {
  constexpr size_t kMostDigits = 4300;
  if (base != 0 && (base < 2 || base > 36)) return Value::none();
  const std::string stripped = strip(text, "", Ends::both).bytes();
  std::string_view rest = stripped;
  const bool is_negative = rest.starts_with('-');
  if (is_negative || rest.starts_with('+')) rest.remove_prefix(1);
  constexpr std::pair<char, int64_t> kPrefixes[] = {{'x', 16}, {'o', 8}, {'b', 2}};
  bool has_prefix = false;
  for (const auto& [letter, of_prefix] : kPrefixes) {
    has_prefix = rest.size() > 1 && rest[0] == '0' && to_lower(rest[1]) == letter &&
                 (base == 0 || base == of_prefix);
    if (!has_prefix) continue;
    base = of_prefix;
    rest.remove_prefix(2);
    if (rest.starts_with('_')) rest.remove_prefix(1);
    break;
  }
  const bool is_free = base == 0;  // then no zero may be in front
  if (is_free) base = 10;
  std::string digits;
  for (size_t i = 0; i < rest.size(); ++i) {
    const char c = to_lower(rest[i]);
    const bool is_between = c == '_' && i > 0 && i + 1 < rest.size() && rest[i - 1] != '_';
    if (is_between) continue;
    const int64_t digit = is_digit(c) ? c - '0' : is_letter(c) ? c - 'a' + 10 : base;
    if (digit >= base) return Value::none();
    digits += c;
  }
  if (digits.empty()) return Value::none();
  const bool is_zero = digits.find_first_not_of('0') == std::string::npos;
  if (is_free && !is_zero && digits[0] == '0') return Value::none();
  if (digits.size() > kMostDigits) {
    if ((base & (base - 1)) != 0) return Value::none();  // as in Python
    return refusal(cat("int: more than ", kMostDigits, " digits are not supported"));
  }
  if (base != 10) digits = to_decimal(digits, static_cast<uint64_t>(base));
  return Value::whole(cat(is_negative ? "-" : "", digits));
}

// Returns the number that a value is or spells; None if it is not a number. Fails with
// ErrorCode::invalid_argument if the value is undefined, or may have digits of other scripts.
Result<Value> number_of(const Value& value) {
  if (value.is_undefined()) return refusal(cat("expected a number, found ", value.type_name()));
  if (value.is_whole()) return Value::integer(value.as_integer());
  if (value.is(Kind::real) || value.is(Kind::long_integer)) return value;
  if (!value.is(Kind::text)) return Value::none();
  KINGLET_ASSIGN(const std::string spelled, spelled_number(value.as_text()));
  if (is_whole(spelled)) return Value::whole(spelled);
  const auto real = read_real(spelled);
  return real ? Value::real(*real) : Value::none();
}

}  // namespace

Result<Value> integer_filter(Arguments& arguments) {
  ArgumentReader reader("int", arguments);
  const Value* given = reader.take("default");
  const int64_t base = reader.take_integer("base", 10);
  KINGLET_TRY(reader.check_end());
  const Value otherwise = given == nullptr ? Value::integer(0) : *given;
  const Value& value = filtered(arguments);
  std::optional<double> real;
  if (value.is(Kind::text)) {
    KINGLET_ASSIGN(const std::string spelled, spelled_number(value.as_text()));
    KINGLET_ASSIGN(const Value whole, read_whole_of_base(value.as_text(), base));
    if (!whole.is(Kind::none)) return whole;
    real = read_real(spelled);
    if (!real || !std::isfinite(*real)) return otherwise;
  } else {
    KINGLET_ASSIGN(const Value number, number_of(value));
    if (!number.is(Kind::none) && !number.is(Kind::real)) return number;
    if (number.is(Kind::none) || std::isnan(number.as_real())) return otherwise;
    real = number.as_real();
  }
  if (std::isinf(*real)) return refusal("int: infinity cannot become a whole number");
  Work::spend(work_of_real(*real));
  return Value::whole(fixed_text(std::trunc(*real), 0));
}

Result<Value> real_filter(Arguments& arguments) {
  ArgumentReader reader("float", arguments);
  const Value* given = reader.take("default");
  KINGLET_TRY(reader.check_end());
  KINGLET_ASSIGN(const Value number, number_of(filtered(arguments)));
  if (number.is_number()) return Value::real(number.as_real());
  if (number.is(Kind::none)) return given == nullptr ? Value::real(0) : *given;
  return Value::real(read_number(number.to_repr().bytes()).value_or(0));
}

Result<Value> absolute_filter(Arguments& arguments) {
  ArgumentReader reader("abs", arguments);
  KINGLET_TRY(reader.check_end());
  const Value& value = filtered(arguments);
  if (value.is(Kind::real)) return Value::real(std::fabs(value.as_real()));
  if (!value.is_whole()) return refusal(cat("abs: expected a number, found ", value.type_name()));
  return value.as_integer() < 0 ? negated(value) : Value::integer(value.as_integer());
}

Result<Value> round_filter(Arguments& arguments) {
  ArgumentReader reader("round", arguments);
  const int64_t precision = reader.take_integer("precision", 0);
  const Text method = reader.take_text("method", "common");
  KINGLET_TRY(reader.check_end());
  const Value& value = filtered(arguments);
  if (value.is(Kind::long_integer) && method.bytes() == "common") return value;
  if (!value.is_number())
    return refusal(cat("round: expected a number, found ", value.type_name()));
  if (precision < 0 || precision > 15) return refusal("round: expected a precision from 0 to 15");
  const double number = value.as_real();
  const bool is_up = method.bytes() == "ceil";
  if (!is_up && method.bytes() != "floor") {
    if (method.bytes() != "common")
      return refusal("round: expected \"common\", \"ceil\" or \"floor\" as method");
    if (value.is_whole()) return Value::integer(value.as_integer());
    if (!std::isfinite(number)) return value;
    Work::spend(2 * work_of_real(number));
    const std::string rounded = fixed_text(number, static_cast<size_t>(precision));
    return Value::real(read_number(rounded).value_or(number));
  }
  double scale = 1;
  for (int64_t n = 0; n < precision; ++n) scale *= 10;
  const double scaled = number * scale;
  // Python computes whole numbers exactly, and this code cannot above 2^53.
  if (!std::isfinite(scaled) || (value.is_whole() && std::fabs(scaled) > 0x1p53)) {
    return refusal("round: the number is too large");
  }
  const double rounded = is_up ? std::ceil(scaled) : std::floor(scaled);
  return Value::real((rounded + 0.0) / scale);  // + 0.0 turns -0 into 0
}

Result<Value> sum_of(const List& values, const Value& start) {
  if (start.is(Kind::text)) return refusal("sum: strings cannot be added");
  Value sum = start;
  // A sequence grows in place: adding them one by one would copy all of it each time.
  if (!start.is_sequence()) {
    for (const Value& value : values) {
      KINGLET_ASSIGN(sum, add(sum, value));
    }
    return sum;
  }
  List items = start.items();
  for (const Value& value : values) {
    if (value.kind() != start.kind()) {
      return refusal(cat("sum: cannot add ", value.type_name(), " to ", start.type_name()));
    }
    items.insert(items.end(), value.items().begin(), value.items().end());
    if (items.size() > kMostItems) return refusal("sum: the list becomes too long");
  }
  return start.is(Kind::list) ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

}  // namespace kinglet::jinja
