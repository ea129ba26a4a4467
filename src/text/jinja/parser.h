// From tokens to statements.
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/jinja/syntax.h"

namespace kinglet::jinja {

// A NodeKind::block. ErrorCode::unsupported_feature says what is wrong or unknown, and in which
// line: a template that names an unknown filter, test or statement is refused before it runs.
Result<NodePtr> parse(std::string_view source);

}  // namespace kinglet::jinja
