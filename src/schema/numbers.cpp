#include "schema/numbers.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/checked.h"
#include "base/decimal.h"
#include "base/format.h"
#include "grammar/expression.h"
#include "schema/automaton.h"

namespace kinglet::schema {
namespace {

constexpr size_t kMaxDigits = 15;
constexpr size_t kUsualFractionDigits = 6;
constexpr uint64_t kMaxDivisor = 100'000'000'000'000;  // the digits of a step
// The most states of an automaton while it is made, and of the finished one.
constexpr size_t kMaxNumberStates = 15'000;
constexpr size_t kMaxRules = 3000;

constexpr std::string_view kNumberSymbols = "-.0123456789";
constexpr uint32_t kMinus = 0;
constexpr uint32_t kPoint = 1;
constexpr uint32_t kZero = 2;

Error number_error(std::string reason) { return {ErrorCode::invalid_argument, std::move(reason)}; }

// The digits on both sides of the point, without unneeded zeros.
struct Decimal {
  // Reads a number of JSON that is a finite double.
  explicit Decimal(std::string_view number);

  bool is_negative;
  std::string whole;
  std::string fraction;
};

Decimal::Decimal(std::string_view number) : is_negative(number.starts_with('-')), whole("0") {
  if (read_number(number).value_or(0) == 0) {  // whatever its exponent is
    is_negative = false;
    return;
  }
  if (is_negative) number.remove_prefix(1);
  const size_t end = std::min(number.find_first_of("eE"), number.size());
  int64_t shift = 0;
  if (end < number.size()) {
    const bool has_plus = number[end + 1] == '+';
    shift = parse_decimal<int64_t>(number.substr(end + (has_plus ? 2 : 1))).value_or(0);
    const auto most = static_cast<int64_t>(number.size() + 400);  // doubles end earlier
    shift = std::clamp(shift, -most, most);
  }
  const std::string zeros(static_cast<size_t>(std::abs(shift)), '0');
  std::string digits(number.substr(0, end));
  size_t n_whole = std::min(digits.find('.'), digits.size());
  if (n_whole < digits.size()) digits.erase(n_whole, 1);
  digits = shift < 0 ? zeros + digits : digits + zeros;
  if (shift > 0) n_whole += zeros.size();
  whole = digits.substr(0, n_whole);
  whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size() - 1));
  fraction = digits.substr(n_whole);
  fraction.erase(fraction.find_last_not_of('0') + 1);
}

// Returns the digits of the number without its point; nullopt if there are too many.
std::optional<uint64_t> scaled(const Decimal& decimal, size_t n_decimals) {
  const size_t n_zeros = n_decimals - decimal.fraction.size();
  return parse_decimal<uint64_t>(cat(decimal.whole, decimal.fraction, std::string(n_zeros, '0')));
}

struct DecimalBound {
  explicit DecimalBound(const Bound& bound) : decimal(bound.value), is_open(bound.is_open) {}

  Decimal decimal;
  bool is_open;
};

// The state of reading a number, digit by digit.
struct Reading {
  enum class Phase : uint8_t { start, sign, zero, whole, point, fraction };
  Phase phase = Phase::start;
  bool is_negative = false;
  bool is_zero = true;
  uint8_t n_whole = 0;
  uint8_t n_fraction = 0;
  // How the digits so far compare with those of the bounds: -1, 0 or 1.
  int8_t to_least = 0;
  int8_t to_most = 0;
  uint64_t remainder = 0;          // of the digits so far, divided by the digits of the steps
  bool has_more_decimals = false;  // than the steps

  bool operator==(const Reading&) const = default;
  size_t n_digits() const { return size_t{n_whole} + n_fraction; }
  bool is_in_fraction() const { return phase == Phase::point || phase == Phase::fraction; }
};

struct ReadingHash {
  size_t operator()(const Reading& reading) const {
    uint64_t hash = reading.remainder;
    for (const uint64_t part :
         {static_cast<uint64_t>(reading.phase), uint64_t{reading.is_negative},
          uint64_t{reading.is_zero}, uint64_t{reading.n_whole}, uint64_t{reading.n_fraction},
          uint64_t{reading.has_more_decimals}, static_cast<uint64_t>(reading.to_least + 1),
          static_cast<uint64_t>(reading.to_most + 1)}) {
      hash = hash * 31 + part;
    }
    return std::hash<uint64_t>()(hash);
  }
};

using Phase = Reading::Phase;

// The automaton of the numbers of a range.
class NumberReader {
 public:
  static Result<NumberReader> make(const NumberRange& range) {
    NumberReader reader;
    if (range.least) reader.least_ = DecimalBound(*range.least);
    if (range.most) reader.most_ = DecimalBound(*range.most);
    size_t n_decimals = Decimal(range.step.empty() ? "1" : range.step).fraction.size();
    for (const std::string_view step : range.not_steps) {
      n_decimals = std::max(n_decimals, Decimal(step).fraction.size());
    }
    reader.n_decimals_ = range.step.empty() && range.not_steps.empty() ? 0 : n_decimals;
    const auto divisor_of = [&](std::string_view step) {
      const auto divisor = scaled(Decimal(step), n_decimals);
      const auto both =
          !divisor || *divisor == 0
              ? std::nullopt
              : checked_mul(reader.modulus_ / std::gcd(reader.modulus_, *divisor), *divisor);
      if (both) reader.modulus_ = *both;
      return both && *both <= kMaxDivisor ? divisor : std::nullopt;
    };
    for (const std::string_view step : range.not_steps) {
      const auto divisor = divisor_of(step);
      if (!divisor) return number_error(cat("\"not\" with multiples of ", step, " is too complex"));
      reader.not_divisors_.push_back(*divisor);
    }
    if (!range.step.empty()) {
      const auto divisor = divisor_of(range.step);
      if (!divisor) return number_error(cat("multiples of ", range.step, " are too complex"));
      reader.divisor_ = *divisor;
      reader.has_step_ = true;
    }
    reader.max_fraction_ = range.is_whole        ? 0
                           : !range.step.empty() ? Decimal(range.step).fraction.size()
                                                 : reader.usual_fraction();
    return reader;
  }

  // Whether the digits so far are a number of the range. Zero has no sign.
  bool accepts(const Reading& state) const {
    if (state.phase == Phase::start || state.phase == Phase::sign || state.phase == Phase::point) {
      return false;
    }
    if (state.is_negative && state.is_zero) return false;
    if (has_step_ && !is_multiple(state, divisor_)) return false;
    for (const uint64_t divisor : not_divisors_) {
      if (is_multiple(state, divisor)) return false;
    }
    const int above = least_ ? compare(state, state.to_least, least_->decimal) : 1;
    const int below = most_ ? -compare(state, state.to_most, most_->decimal) : 1;
    return (above > 0 || (above == 0 && !(least_ && least_->is_open))) &&
           (below > 0 || (below == 0 && !(most_ && most_->is_open)));
  }

  // Whether the digits so far are a multiple of this divisor of the modulus. With more decimals
  // than the steps have, they are none.
  bool is_multiple(const Reading& state, uint64_t divisor) const {
    if (state.has_more_decimals) return false;
    uint64_t remainder = state.remainder;
    for (size_t n = state.n_fraction; n < n_decimals_ && remainder != 0; ++n) {
      remainder = remainder * 10 % modulus_;
    }
    return remainder % divisor == 0;
  }

  // Calls take(symbol, state) for each symbol that may follow, with the state behind it.
  template <class Take>
  void for_each_move(const Reading& state, const Take& take) const {
    if (state.phase == Phase::start) {
      Reading next = state;
      next.phase = Phase::sign;
      next.is_negative = true;
      take(kMinus, next);
    }
    const bool has_room = state.n_digits() < kMaxDigits;
    const bool is_whole = state.phase == Phase::zero || state.phase == Phase::whole;
    if (is_whole && max_fraction_ > 0 && has_room) take(kPoint, with_point(state));
    const bool may_go_on =
        state.is_in_fraction() ? state.n_fraction < max_fraction_ : state.phase != Phase::zero;
    if (!may_go_on || !has_room) return;
    for (uint32_t digit = 0; digit <= 9; ++digit) take(kZero + digit, with_digit(state, digit));
  }

 private:
  NumberReader() = default;

  // Between two bounds that are close to each other, there must be numbers.
  size_t usual_fraction() const {
    size_t n = kUsualFractionDigits;
    for (const auto& bound : {least_, most_}) {
      if (bound) n = std::max(n, bound->decimal.fraction.size() + 1);
    }
    return std::min(n, kMaxDigits - 1);
  }

  Reading with_digit(const Reading& state, uint32_t digit) const {
    const bool is_fraction = state.is_in_fraction();
    const auto compare_digit = [&](int8_t known,
                                   const std::optional<DecimalBound>& bound) -> int8_t {
      if (!bound) return 0;
      const auto& [is_negative, whole, fraction] = bound->decimal;
      if (!is_fraction && state.n_whole >= whole.size()) return 1;  // it has more digits
      if (known != 0) return known;
      const char other = !is_fraction                         ? whole[state.n_whole]
                         : state.n_fraction < fraction.size() ? fraction[state.n_fraction]
                                                              : '0';
      return sign(kNumberSymbols[kZero + digit] - other);
    };
    Reading next = state;
    next.phase = is_fraction                                 ? Phase::fraction
                 : state.phase != Phase::whole && digit == 0 ? Phase::zero
                                                             : Phase::whole;
    next.is_zero = state.is_zero && digit == 0;
    ++(is_fraction ? next.n_fraction : next.n_whole);
    next.to_least = compare_digit(state.to_least, least_);
    next.to_most = compare_digit(state.to_most, most_);
    if (is_fraction && state.n_fraction >= n_decimals_) {
      next.has_more_decimals = state.has_more_decimals || (digit != 0 && !not_divisors_.empty());
    } else {
      next.remainder = (state.remainder * 10 + digit) % modulus_;
    }
    return next;
  }

  // Ends the whole part: bounds with more digits there are farther from 0.
  Reading with_point(const Reading& state) const {
    Reading next = state;
    next.phase = Phase::point;
    if (least_ && state.n_whole < least_->decimal.whole.size()) next.to_least = -1;
    if (most_ && state.n_whole < most_->decimal.whole.size()) next.to_most = -1;
    return next;
  }

  static int8_t sign(int number) { return static_cast<int8_t>((number > 0) - (number < 0)); }

  // Returns the sign of the number read so far minus the bound.
  static int compare(const Reading& state, int known, const Decimal& bound) {
    if (state.is_negative != bound.is_negative) return state.is_negative ? -1 : 1;
    const bool is_shorter = state.phase != Phase::fraction && state.n_whole < bound.whole.size();
    const bool is_behind = known == 0 && state.n_fraction < bound.fraction.size();
    const int magnitude = is_shorter || is_behind ? -1 : known;
    return state.is_negative ? -magnitude : magnitude;
  }

  std::optional<DecimalBound> least_;
  std::optional<DecimalBound> most_;
  uint64_t divisor_ = 1;
  bool has_step_ = false;
  std::vector<uint64_t> not_divisors_;
  uint64_t modulus_ = 1;   // a multiple of all divisors
  size_t n_decimals_ = 0;  // of the steps
  size_t max_fraction_ = 0;
};

}  // namespace

Result<Expression> numbers_expression(const NumberRange& range, GrammarRules& rules) {
  KINGLET_ASSIGN(const NumberReader reader, NumberReader::make(range));
  const auto automaton = automaton_of<Reading, ReadingHash>(
      Reading(), kMaxNumberStates,
      [&](const Reading& state, Automaton::State& described, const auto& add_move) {
        described.accepts = reader.accepts(state);
        reader.for_each_move(state, add_move);
      });
  if (!automaton || automaton->states.size() > kMaxRules) {
    return number_error("its automaton would be too large");
  }
  if (automaton->states.empty()) {
    for (const auto& bound : {range.least, range.most}) {
      if (!bound || Decimal(bound->value).whole.size() <= kMaxDigits) continue;
      return number_error(
          cat("the bound ", bound->value, " has more than ", kMaxDigits, " digits"));
    }
    return Expression();
  }
  const auto spell = [](const std::vector<uint32_t>& symbols) {
    CharacterSet characters;
    for (const uint32_t symbol : symbols) {
      const auto code = static_cast<char32_t>(kNumberSymbols[symbol]);
      characters.push_back({code, code});
    }
    return one_of(characters);
  };
  return automaton_expression(*automaton, spell, rules);
}

Result<bool> contains(const NumberRange& range, std::string_view number) {
  const double value = *read_number(number);
  const auto is_beyond = [value](const std::optional<Bound>& bound, int sign) {
    if (!bound) return false;
    const double end = *read_number(bound->value);
    return bound->is_open ? sign * value <= sign * end : sign * value < sign * end;
  };
  if (is_beyond(range.least, 1) || is_beyond(range.most, -1)) return false;
  const Decimal decimal(number);
  const auto is_multiple = [&](std::string_view text) -> Result<bool> {
    const Decimal step(text);
    const size_t n_decimals = std::max(decimal.fraction.size(), step.fraction.size());
    const auto dividend = scaled(decimal, n_decimals);
    const auto divisor = scaled(step, n_decimals);
    if (dividend && divisor && *divisor > 0) return *dividend % *divisor == 0;
    return number_error(cat("multiples of ", text, " are too complex"));
  };
  for (const std::string_view step : range.not_steps) {
    KINGLET_ASSIGN(const bool is, is_multiple(step));
    if (is) return false;
  }
  if (range.step.empty()) return true;
  return is_multiple(range.step);
}

std::optional<std::string> common_multiple(std::string_view a, std::string_view b) {
  const Decimal x(a);
  const Decimal y(b);
  const size_t n_decimals = std::max(x.fraction.size(), y.fraction.size());
  const auto scaled_x = scaled(x, n_decimals);
  const auto scaled_y = scaled(y, n_decimals);
  if (!scaled_x || !scaled_y) return std::nullopt;
  const auto multiple = checked_mul(*scaled_x / std::gcd(*scaled_x, *scaled_y), *scaled_y);
  if (!multiple || *multiple > kMaxDivisor) return std::nullopt;
  std::string digits = cat(*multiple);
  if (digits.size() <= n_decimals) digits.insert(0, n_decimals + 1 - digits.size(), '0');
  if (n_decimals > 0) digits.insert(digits.size() - n_decimals, 1, '.');
  return digits;
}

}  // namespace kinglet::schema
