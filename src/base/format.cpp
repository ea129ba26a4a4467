#include "base/format.h"

#include <charconv>
#include <cmath>

#include "base/ascii.h"

namespace kinglet {
namespace {

template <class T>
void append_digits(std::string& out, T number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

}  // namespace

void append(std::string& out, int64_t number) { append_digits(out, number); }
void append(std::string& out, uint64_t number) { append_digits(out, number); }

void append(std::string& out, double number) {
  if (std::isnan(number)) return append(out, "nan");
  if (number < 0) append(out, '-');
  number = std::fabs(number);
  if (std::isinf(number)) return append(out, "inf");
  int exponent = 0;
  for (; number >= 1e15; number /= 10) ++exponent;
  if (exponent > 0) {
    for (; number >= 10; number /= 10) ++exponent;
  }

  const auto thousandths = static_cast<uint64_t>(number * 1000 + 0.5);
  append(out, thousandths / 1000);
  if (uint64_t rest = thousandths % 1000; rest > 0) {
    append(out, '.');
    for (uint64_t digit = 100; rest > 0; rest %= digit, digit /= 10) append(out, rest / digit);
  }
  if (exponent > 0) append(out, cat("e+", exponent));
}

std::string hexadecimal(uint64_t number, int n_digits) {
  std::string out;
  for (int digit = n_digits - 1; digit >= 0; --digit) {
    out += kHexDigits[number >> (4 * digit) & 0xf];
  }
  return out;
}

}  // namespace kinglet
