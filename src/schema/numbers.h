// Converts limits of numbers, and steps that they are multiples of, to expressions of their digits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/rules.h"

namespace kinglet::schema {

// In GBNF. Doubles hold 15 digits exactly, so that rounding never reaches a bound.
constexpr std::string_view kAnyInteger = R"("-"? ("0" | [1-9] [0-9]{0,14}))";
constexpr std::string_view kAnyNumber =
    R"("-"? ("0" | [1-9] [0-9]{0,14}) ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?)";

// An end of a range. `is_open`: the range does not include this value.
struct Bound {
  std::string_view value;  // as in JSON
  bool is_open;
};

struct NumberRange {
  std::optional<Bound> least = {};
  std::optional<Bound> most = {};
  std::string_view step = {};  // the numbers are multiples of it: above 0; empty: of nothing
  std::vector<std::string_view> not_steps = {};  // they are not multiples of these
  bool is_whole = false;
};

// Returns an expression of the numbers of a range; empty if there are none. The values of the
// range are finite doubles. ErrorCode::invalid_argument says why a range is not supported.
Result<Expression> numbers_expression(const NumberRange& range, GrammarRules& rules);

// Whether a range contains the number, which may have any number of digits. An error: as above.
Result<bool> contains(const NumberRange& range, std::string_view number);

// Returns the least number that both numbers, which are above 0, divide; nullopt if it takes too
// many digits.
std::optional<std::string> common_multiple(std::string_view a, std::string_view b);

}  // namespace kinglet::schema
