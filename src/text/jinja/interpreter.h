// Running a parsed template.
#pragma once

#include "base/result.h"
#include "text/jinja/now.h"
#include "text/jinja/syntax.h"

namespace kinglet::jinja {

// What a template may take, so that none runs for ever.
constexpr size_t kMostSteps = 2'000'000;    // nodes that are run
constexpr uint64_t kMostWork = 1ULL << 33;  // bytes that are gone through
constexpr size_t kMostMade = 1U << 28;      // bytes of all texts and lists
constexpr size_t kMostAtOnce = 1U << 26;    // bytes of one operand

// The text that the template makes of the variables. ErrorCode::invalid_argument: what the template
// raises, in its words, or what cannot be computed, with the line; out_of_memory beyond the limits.
Result<Text> run(const Node& block, const Dict& variables, const Now& now);

}  // namespace kinglet::jinja
