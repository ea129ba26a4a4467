// Filters that make numbers.
#pragma once

#include "base/result.h"
#include "text/jinja/value.h"

namespace kinglet::jinja {

// As Jinja's documentation has them. `arguments.positional` begins with what is filtered.
Result<Value> integer_filter(Arguments& arguments);
Result<Value> real_filter(Arguments& arguments);
Result<Value> absolute_filter(Arguments& arguments);
Result<Value> round_filter(Arguments& arguments);

// The sum of the values and the start. Lists are joined where the start is one.
Result<Value> sum_of(const List& values, const Value& start);

}  // namespace kinglet::jinja
