// Filters that return numbers.
#pragma once

#include "base/result.h"
#include "text/jinja/value.h"

namespace kinglet::jinja {

// See Jinja's documentation. `arguments.positional` begins with the filtered value.
Result<Value> integer_filter(Arguments& arguments);
Result<Value> real_filter(Arguments& arguments);
Result<Value> absolute_filter(Arguments& arguments);
Result<Value> round_filter(Arguments& arguments);

// Returns the sum of `start` and the values. If `start` is a list, concatenates lists.
Result<Value> sum_of(const List& values, const Value& start);

}  // namespace kinglet::jinja
