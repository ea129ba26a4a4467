// Python's string formatting: fills values into the places of a text.
#pragma once

#include "base/result.h"
#include "text/jinja/text.h"
#include "text/jinja/value.h"

namespace kinglet::jinja {

// "%s and %(name)05.2f" % values, where `values` is a tuple, a dict, or one value. Types s, r, d,
// i, u, x, X, o, e, E, f, F, g and G. Fails with ErrorCode::invalid_argument.
Result<Text> format_percent(const Text& text, const Value& values);

// "{}, {0[key]!r} and {name.attribute:>8.2f}".format(…). Types s, d, b, o, x, X, e, E, f, F, g, G
// and %. Fails with ErrorCode::invalid_argument.
Result<Text> format_braces(const Text& text, const Arguments& arguments);

}  // namespace kinglet::jinja
