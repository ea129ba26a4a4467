// Filters that lay texts out.
#pragma once

#include "base/result.h"
#include "text/jinja/value.h"

namespace kinglet::jinja {

// As Jinja's documentation has them. `arguments.positional` begins with what is filtered.
Result<Value> format_filter(Arguments& arguments);
Result<Value> pprint_filter(Arguments& arguments);  // of what fits into one line
Result<Value> truncate_filter(Arguments& arguments);
Result<Value> urlencode_filter(Arguments& arguments);
Result<Value> wordcount_filter(Arguments& arguments);
Result<Value> filesize_filter(Arguments& arguments);

// A text in the middle of so many characters.
Text centered(const Text& text, int64_t width, std::string_view fill = " ");

}  // namespace kinglet::jinja
