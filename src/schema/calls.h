// Grammars of answers in the notation of a family of models: calls of tools, and what comes after a
// thought.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "text/answer/answer_format.h"
#include "text/answer/calls.h"

namespace kinglet {

struct CallRules {
  // A list of {"type": "function", "function": {"name": …, "parameters": a JSON schema}}: the tools
  // that may be called; at least one.
  const Json& tools;
  const std::vector<KnownTool>& known;  // the same tools, in the same order
  const AnswerFormat& format;
  const std::vector<MarkToken>& marks;  // of the format, which are matched as tokens
  bool may_be_several = true;           // calls in one answer, if the notation allows that
};

// Returns the grammar of one call or more. If the end of `prompt` has begun a thought, the rest of
// the thought comes first. ErrorCode::invalid_argument names the tool, the place in its schema, and
// what is not supported or cannot be written in the notation.
Result<std::string> grammar_of_calls(const CallRules& rules, std::string_view prompt);

// Returns the grammar of a schema, see grammar_of_schema(). If the end of `prompt` has begun a
// thought, the rest of the thought comes first.
Result<std::string> grammar_of_answer(const Json& schema, const AnswerFormat& format,
                                      const std::vector<MarkToken>& marks, std::string_view prompt);

}  // namespace kinglet
