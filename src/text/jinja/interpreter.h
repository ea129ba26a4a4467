// Runs a parsed template.
#pragma once

#include "base/cancellation.h"
#include "base/result.h"
#include "text/jinja/now.h"
#include "text/jinja/syntax.h"
#include "text/jinja/work.h"

namespace kinglet::jinja {

// Limits of a template. With those of work.h, they bound its time to less than 2 seconds on the
// machines that docs/performance.md names.
constexpr size_t kMostSteps = 2'000'000;  // nodes that are run
constexpr size_t kMostAtOnce = 1U << 26;  // bytes of one operand

// Returns the text that the template makes of the variables. Errors: invalid_argument (an exception
// that the template raises, with its message, or something that cannot be computed; with the line),
// out_of_memory (the template exceeds the limits), cancelled.
Result<Text> run(const Node& block, const Dict& variables, const Now& now,
                 const Cancellation& cancellation);

}  // namespace kinglet::jinja
