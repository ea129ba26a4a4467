// The filter `striptags`.
#pragma once

#include "base/result.h"
#include "text/jinja/value.h"

namespace kinglet::jinja {

// Removes comments and tags of HTML, makes one space of each run of white space, and replaces
// references to characters.
Result<Value> striptags_filter(Arguments& arguments);

}  // namespace kinglet::jinja
