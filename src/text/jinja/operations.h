// The operators of expressions, as in Python.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "text/jinja/value.h"

namespace kinglet::jinja {

// Returns a + b. Fails with ErrorCode::invalid_argument if Python raises an error, or if the result
// needs more than 64 bits.
Result<Value> add(const Value& a, const Value& b);

// Returns a SIGN b, where SIGN is one of +, -, *, /, //, %, **. Errors: those of add().
Result<Value> operate(std::string_view spelled, const Value& a, const Value& b);

// Returns a - floor(a / b) x b; b must not be 0.
double rest_of(double a, double b);

// Returns -value. Errors: those of add().
Result<Value> negated(const Value& value);

// value[begin:end:step]; std::nullopt for a part that is left out. cut() fails with
// ErrorCode::invalid_argument if the value has no positions, or if the step is 0.
struct Slice {
  std::optional<int64_t> begin;
  std::optional<int64_t> end;
  std::optional<int64_t> step;
};
Result<Value> cut(const Value& value, const Slice& slice);

// Returns `part in whole`. Fails with ErrorCode::invalid_argument if Python raises an error.
Result<bool> contains(const Value& whole, const Value& part);

}  // namespace kinglet::jinja
