// The operators of expressions, as Python has them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "text/jinja/value.h"

namespace kinglet::jinja {

// a + b. ErrorCode::invalid_argument where Python refuses, or beyond 64 bits.
Result<Value> add(const Value& a, const Value& b);

// a SIGN b, by +, -, *, /, //, %, **. Errors: those of add().
Result<Value> operate(std::string_view spelled, const Value& a, const Value& b);

// a - floor(a / b) x b; b is not 0.
double rest_of(double a, double b);

// -value. Errors: those of add().
Result<Value> negated(const Value& value);

// value[begin:end:step], std::nullopt where one is left out. ErrorCode::invalid_argument of what
// has no places, and where the step is 0.
struct Slice {
  std::optional<int64_t> begin;
  std::optional<int64_t> end;
  std::optional<int64_t> step;
};
Result<Value> cut(const Value& value, const Slice& slice);

// part in whole. ErrorCode::invalid_argument where Python refuses.
Result<bool> contains(const Value& whole, const Value& part);

}  // namespace kinglet::jinja
