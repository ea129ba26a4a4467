#include "base/decimal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <system_error>
#include <vector>

#include "base/ascii.h"
#include "base/bit_cast.h"
#include "base/format.h"

namespace kinglet {
namespace {

// A whole number of any size, its lowest 32 bits first.
class Whole {
 public:
  explicit Whole(uint64_t value) {
    for (; value > 0; value >>= 32) words_.push_back(static_cast<uint32_t>(value));
  }

  void multiply_add(uint32_t factor, uint32_t addend = 0) {
    uint64_t carry = addend;
    for (uint32_t& word : words_) {
      carry += uint64_t{word} * factor;
      word = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry > 0) words_.push_back(static_cast<uint32_t>(carry));
  }

  // Multiplies by base^exponent; does nothing if the exponent is negative.
  void multiply_power(uint32_t base, int exponent) {
    for (; exponent > 0; --exponent) multiply_add(base);
  }

  // Divides this number in place, and returns the remainder.
  uint32_t divide(uint32_t divisor) {
    uint64_t rest = 0;
    for (size_t i = words_.size(); i-- > 0;) {
      rest = rest << 32 | words_[i];
      words_[i] = static_cast<uint32_t>(rest / divisor);
      rest %= divisor;
    }
    while (!words_.empty() && words_.back() == 0) words_.pop_back();
    return static_cast<uint32_t>(rest);
  }

  bool is_zero() const { return words_.empty(); }

  // Compares this number, plus `addend` if given, with the other: returns -1 (less), 0 or 1 (more).
  int compare(const Whole& other, const Whole* addend = nullptr) const {
    Whole sum = *this;
    if (addend != nullptr) sum.add(*addend);
    if (sum.words_.size() != other.words_.size()) {
      return sum.words_.size() < other.words_.size() ? -1 : 1;
    }
    for (size_t i = sum.words_.size(); i-- > 0;) {
      if (sum.words_[i] != other.words_[i]) return sum.words_[i] < other.words_[i] ? -1 : 1;
    }
    return 0;
  }

  // `other` must not be larger than this number.
  void subtract(const Whole& other) {
    uint64_t borrow = 0;
    for (size_t i = 0; i < words_.size(); ++i) {
      const uint64_t taken = borrow + (i < other.words_.size() ? other.words_[i] : 0);
      borrow = taken > words_[i] ? 1 : 0;
      words_[i] = static_cast<uint32_t>(words_[i] - taken);
    }
    while (!words_.empty() && words_.back() == 0) words_.pop_back();
  }

 private:
  void add(const Whole& other) {
    words_.resize(std::max(words_.size(), other.words_.size()));
    uint64_t carry = 0;
    for (size_t i = 0; i < words_.size(); ++i) {
      carry += uint64_t{words_[i]} + (i < other.words_.size() ? other.words_[i] : 0);
      words_[i] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry > 0) words_.push_back(static_cast<uint32_t>(carry));
  }

  std::vector<uint32_t> words_;
};

constexpr int kMantissaBits = 52;
constexpr int kLowestExponent = -1074;

// The parts of a positive number, which is mantissa x 2^exponent.
struct Parts {
  explicit Parts(double value) {
    const auto bits = bit_cast<uint64_t>(value);
    const auto biased = static_cast<int>(bits >> kMantissaBits) & 0x7ff;
    mantissa = bits & ((uint64_t{1} << kMantissaBits) - 1);
    if (biased > 0) mantissa |= uint64_t{1} << kMantissaBits;
    exponent = std::max(biased, 1) - 1 + kLowestExponent;
  }

  uint64_t mantissa;
  int exponent;
};

// Returns the shortest digits that are nearer to the number than to the floats next to it; the
// number is 0.DIGITS x 10^place. Source: Steele and White, "How to print floating-point numbers
// accurately".
std::string shortest_digits(double value, int& place) {
  const Parts parts(value);
  const bool is_even = parts.mantissa % 2 == 0;
  // The gap below a power of two is half as wide as the gap above it.
  const bool is_uneven =
      parts.mantissa == uint64_t{1} << kMantissaBits && parts.exponent > kLowestExponent;
  // value = rest / scale; half the gaps to its neighbours are above / scale and below / scale.
  Whole rest(parts.mantissa);
  Whole scale(1);
  Whole above(1);
  Whole below(1);
  rest.multiply_add(is_uneven ? 4 : 2);
  scale.multiply_add(is_uneven ? 4 : 2);
  if (is_uneven) above.multiply_add(2);
  for (Whole* number : {&rest, &above, &below}) number->multiply_power(2, parts.exponent);
  scale.multiply_power(2, -parts.exponent);
  const auto scale_up = [&] {
    for (Whole* number : {&rest, &above, &below}) number->multiply_add(10);
  };
  const auto reaches = [&](int order) { return is_even ? order >= 0 : order > 0; };
  place = 0;
  for (; reaches(rest.compare(scale, &above)); ++place) scale.multiply_add(10);
  for (;; --place) {
    Whole next = rest;
    Whole gap = above;
    next.multiply_add(10);
    gap.multiply_add(10);
    if (reaches(next.compare(scale, &gap))) break;
    scale_up();
  }
  std::string digits;
  while (true) {
    scale_up();
    char digit = '0';
    for (; rest.compare(scale) >= 0; ++digit) rest.subtract(scale);
    const int to_below = rest.compare(below);
    const bool is_near_below = to_below < 0 || (is_even && to_below == 0);
    const bool is_near_above = reaches(rest.compare(scale, &above));
    if (!is_near_below && !is_near_above) {
      digits += digit;
      continue;
    }
    const int to_middle = rest.compare(scale, &rest);
    const bool is_nearer_above = to_middle > 0 || (to_middle == 0 && digit % 2 == 1);
    const bool rounds_up = is_near_above && (!is_near_below || is_nearer_above);
    return digits + static_cast<char>(digit + (rounds_up ? 1 : 0));
  }
}

// All digits of a number, which is 0.DIGITS x 10^place.
struct Decimal {
  explicit Decimal(double value) {
    // mantissa / 2^n = mantissa x 5^n / 10^n
    const Parts parts(std::fabs(value));
    Whole number(parts.mantissa);
    number.multiply_power(2, parts.exponent);
    number.multiply_power(5, -parts.exponent);
    while (!number.is_zero()) digits += static_cast<char>('0' + number.divide(10));
    std::reverse(digits.begin(), digits.end());
    place = static_cast<int>(digits.size()) + std::min(parts.exponent, 0);
  }

  // Rounds to the nearest number with `n_digits` digits; ties go to an even last digit.
  void round(int n_digits) {
    if (n_digits >= static_cast<int>(digits.size())) return;
    const auto n = static_cast<size_t>(std::max(n_digits, 0));
    const std::string rest = n_digits < 0 ? "0" : digits.substr(n);
    digits.resize(n);
    const bool is_half = rest[0] == '5' && rest.find_first_not_of('0', 1) == std::string::npos;
    const bool is_odd = n > 0 && digits.back() % 2 == 1;
    if (is_half ? !is_odd : rest[0] < '5') return;
    while (!digits.empty() && digits.back() == '9') digits.pop_back();
    if (digits.empty()) {
      digits = "1";
      ++place;
    } else {
      ++digits.back();
    }
  }

  char digit(int i) const {
    return i < 0 || i >= static_cast<int>(digits.size()) ? '0' : digits[static_cast<size_t>(i)];
  }

  // The exponent of the first digit.
  int exponent() const { return digits.empty() ? 0 : place - 1; }

  std::string digits;
  int place = 0;
};

std::string spelled_exponent(int exponent) {
  const int size = exponent < 0 ? -exponent : exponent;
  return cat(exponent < 0 ? "e-" : "e+", size < 10 ? "0" : "", size);
}

// Compares digits x 10^exponent with the middle between `value` and the next larger float: returns
// -1 (less), 0 or 1 (more).
int compare_to_middle(const Whole& digits, int exponent, double value) {
  const Parts parts(value);
  Whole decimal = digits;
  Whole middle(parts.mantissa);
  middle.multiply_add(2, 1);
  decimal.multiply_power(10, exponent);
  middle.multiply_power(10, -exponent);
  decimal.multiply_power(2, 1 - parts.exponent);
  middle.multiply_power(2, parts.exponent - 1);
  return decimal.compare(middle);
}

double nearest(const Whole& digits, int exponent, double guess) {
  const auto next = [](double value, int step) {
    return bit_cast<double>(bit_cast<uint64_t>(value) + static_cast<uint64_t>(step));
  };
  double value = std::min(guess, std::numeric_limits<double>::max());
  const auto is_even = [](double number) { return Parts(number).mantissa % 2 == 0; };
  while (std::isfinite(value)) {
    const int order = compare_to_middle(digits, exponent, value);
    if (order < 0 || (order == 0 && is_even(value))) break;
    value = next(value, 1);
  }
  while (value > 0) {
    const int order = compare_to_middle(digits, exponent, next(value, -1));
    if (order > 0 || (order == 0 && is_even(value))) break;
    value = next(value, -1);
  }
  return value;
}

// Removes leading digits from `text`, and returns how many there were.
size_t take_digits(std::string_view& text) {
  size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  text.remove_prefix(n);
  return n;
}

}  // namespace

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  const std::string sign = std::signbit(value) ? "-" : "";
  if (std::isinf(value)) return sign + "inf";
  if (value == 0) return sign + "0.0";
  int place = 0;
  std::string digits = shortest_digits(std::fabs(value), place);
  // Numbers from 1e-4 up to 1e16 have no exponent.
  if (place <= -4 || place > 16) {
    const int exponent = place - 1;
    if (digits.size() > 1) digits.insert(1, ".");
    return cat(sign, digits, spelled_exponent(exponent));
  }
  if (place <= 0) return cat(sign, "0.", std::string(static_cast<size_t>(-place), '0'), digits);
  const auto n_whole = static_cast<size_t>(place);
  if (digits.size() <= n_whole) digits.append(n_whole + 1 - digits.size(), '0');
  return cat(sign, digits.substr(0, n_whole), ".", digits.substr(n_whole));
}

std::string fixed_text(double value, size_t n_decimals) {
  if (!std::isfinite(value)) return number_text(value);
  Decimal decimal(value);
  decimal.round(decimal.place + static_cast<int>(n_decimals));
  std::string text = std::signbit(value) ? "-" : "";
  if (decimal.place <= 0) text += '0';
  for (int i = 0; i < decimal.place; ++i) text += decimal.digit(i);
  if (n_decimals > 0) text += '.';
  for (size_t i = 0; i < n_decimals; ++i)
    text += decimal.digit(decimal.place + static_cast<int>(i));
  return text;
}

std::string exponent_text(double value, size_t n_decimals) {
  if (!std::isfinite(value)) return number_text(value);
  Decimal decimal(value);
  decimal.round(static_cast<int>(n_decimals) + 1);
  std::string text = std::signbit(value) ? "-" : "";
  text += decimal.digit(0);
  if (n_decimals > 0) text += '.';
  for (size_t i = 1; i <= n_decimals; ++i) text += decimal.digit(static_cast<int>(i));
  return text + spelled_exponent(decimal.exponent());
}

std::string general_text(double value, size_t n_digits) {
  if (!std::isfinite(value)) return number_text(value);
  const int n = std::max(static_cast<int>(n_digits), 1);
  Decimal decimal(value);
  decimal.round(n);
  const int exponent = decimal.exponent();
  const bool is_plain = exponent >= -4 && exponent < n;
  std::string text = is_plain ? fixed_text(value, static_cast<size_t>(n - 1 - exponent))
                              : exponent_text(value, static_cast<size_t>(n - 1));
  // Removes zeros at the end of the decimals.
  const size_t end = std::min(text.find('e'), text.size());
  if (text.find('.') == std::string::npos) return text;
  size_t last = text.find_last_not_of('0', end - 1);
  if (text[last] == '.') --last;
  return text.erase(last + 1, end - last - 1);
}

std::optional<int64_t> read_whole(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  int64_t value = 0;
  const char* begin = text.data();  // NOLINT(bugprone-suspicious-stringview-data-usage)
  const char* end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (text.empty() || stop != end || error != std::errc()) return std::nullopt;
  return value;
}

std::optional<double> read_number(std::string_view text) {
  constexpr int kMostDigits = 800;  // later digits cannot change the result
  constexpr int kFarOut = 5000;     // an exponent of 0 or infinity, whatever the digits
  constexpr int kGuessed = 18;      // digits for the first guess; all digits could overflow
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  const std::string_view start = text;
  size_t n_digits = take_digits(text);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    n_digits += take_digits(text);
  }
  const std::string_view spelled = start.substr(0, start.size() - text.size());
  if (n_digits == 0) return std::nullopt;
  int exponent = 0;
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    const bool is_small = text.starts_with('-');
    if (is_small || text.starts_with('+')) text.remove_prefix(1);
    const std::string_view power = text;
    if (take_digits(text) == 0) return std::nullopt;
    for (const char c : power.substr(0, power.size() - text.size())) {
      exponent = std::min(exponent * 10 + (c - '0'), kFarOut);
    }
    if (is_small) exponent = -exponent;
  }
  if (!text.empty()) return std::nullopt;
  Whole digits(0);
  double guess = 0;
  int n_read = 0;
  int n_unguessed = 0;
  bool is_fraction = false;
  for (const char c : spelled) {
    if (c == '.') {
      is_fraction = true;
      continue;
    }
    const bool counts = n_read < kMostDigits;
    if (counts) digits.multiply_add(10, static_cast<uint32_t>(c - '0'));
    if (counts && n_read < kGuessed) guess = guess * 10 + (c - '0');
    n_unguessed += counts && n_read >= kGuessed ? 1 : 0;
    n_read += counts && (n_read > 0 || c != '0') ? 1 : 0;
    exponent = std::clamp(exponent + (counts ? 0 : 1) - (is_fraction ? 1 : 0), -kFarOut, kFarOut);
  }
  if (guess == 0) return is_negative ? -0.0 : 0.0;
  if (exponent + n_read > 310) return is_negative ? -HUGE_VAL : HUGE_VAL;
  if (exponent + n_read < -330) return is_negative ? -0.0 : 0.0;
  for (int i = 0; i < exponent + n_unguessed; ++i) guess *= 10;
  for (int i = 0; i > exponent + n_unguessed; --i) guess /= 10;
  const double value = nearest(digits, exponent, guess);
  return is_negative ? -value : value;
}

}  // namespace kinglet
