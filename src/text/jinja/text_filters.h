// Filters that format texts.
#pragma once

#include "base/result.h"
#include "text/jinja/value.h"

namespace kinglet::jinja {

// See Jinja's documentation. `arguments.positional` begins with the filtered value.
Result<Value> format_filter(Arguments& arguments);
Result<Value> pprint_filter(Arguments& arguments);  // only for values that fit into one line
Result<Value> truncate_filter(Arguments& arguments);
Result<Value> urlencode_filter(Arguments& arguments);
Result<Value> wordcount_filter(Arguments& arguments);
Result<Value> filesize_filter(Arguments& arguments);

// The most characters that a text is filled up to.
constexpr int64_t kMostWidth = 10000;

// Returns the text in the middle of `width` characters.
Text centered(const Text& text, int64_t width, std::string_view fill = " ");

}  // namespace kinglet::jinja
