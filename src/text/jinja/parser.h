// Turns the tokens of a template into statements.
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/jinja/syntax.h"

namespace kinglet::jinja {

// Parses a template; the result is a NodeKind::block. Fails with ErrorCode::unsupported_feature;
// the message says what is wrong or unknown, and in which line. A template with an unknown
// statement is refused here, before it runs, and so are unknown filters and tests outside of
// branches and conditions.
Result<NodePtr> parse(std::string_view source);

}  // namespace kinglet::jinja
