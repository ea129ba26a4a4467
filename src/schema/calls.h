// Grammars of answers in the notation of a family of models: calls of tools, and what comes after a
// thought.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "schema/schema.h"
#include "text/answer/answer_format.h"
#include "text/answer/calls.h"

namespace kinglet {

// Returns what a reader of calls must know of the tools, a list as in CallRules. Some models write
// values without quotes: then only the schema distinguishes strings from numbers. Fails with
// ErrorCode::invalid_argument if a tool has no name.
Result<std::vector<KnownTool>> known_tools(const Json& tools);

// Whether `tools` is a list of tools as in OpenAI's API. Errors: invalid_argument.
Status check_tools(const Json& tools);

struct CallRules {
  // A list of {"type": "function", "function": {"name": …, "parameters": a JSON schema}}: the tools
  // that may be called; at least one.
  const Json& tools;
  const std::vector<KnownTool>& known;  // the same tools, in the same order
  const AnswerFormat& format;
  const std::vector<MarkToken>& marks;  // of the format, which are matched as tokens
  bool may_be_several = true;           // calls in one answer, if the notation allows that
  SchemaOptions options = {};           // for the tools' schemas; `indent` says nothing
};

// Returns the grammar of one call or more. `is_thinking`: the prompt has begun a thought, and the
// rest of the thought comes first. ErrorCode::invalid_argument names the tool, the place in its
// schema, and what is not supported or cannot be written in the notation; other errors are those of
// Grammar::compile().
Result<Grammar> grammar_of_calls(const CallRules& rules, bool is_thinking);

// Returns the grammar of a schema, see grammar_of_schema(). `is_thinking`: as above.
Result<Grammar> grammar_of_answer(const Json& schema, const AnswerFormat& format,
                                  const std::vector<MarkToken>& marks, bool is_thinking,
                                  const SchemaOptions& options = {});

}  // namespace kinglet
