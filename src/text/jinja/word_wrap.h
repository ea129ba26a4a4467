// The filter `wordwrap`.
#pragma once

#include "base/result.h"
#include "text/jinja/value.h"

namespace kinglet::jinja {

Result<Value> wordwrap_filter(Arguments& arguments);

}  // namespace kinglet::jinja
