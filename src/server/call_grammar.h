// The grammar of answers that must be calls of tools, in the syntax of the model's family.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"
#include "server/api_error.h"
#include "server/json_schema.h"
#include "text/answer/answer_format.h"
#include "text/tokenizer.h"

namespace kinglet::server {

struct CallRules {
  const Json& tools;                    // that may be called; at least one
  const std::vector<KnownTool>& known;  // the same tools, in the same order
  const AnswerFormat& format;
  const Tokenizer& tokenizer;
  bool may_be_several = true;  // calls in one answer, if the syntax allows that
};

// Returns the grammar of one or more calls. If the end of `prompt` has begun a thought, the rest of
// the thought comes before the calls. Marks for which the vocabulary has tokens are matched as
// those tokens. An error names the tool, the place in its schema, and what cannot be written there.
ApiResult<std::string> grammar_of_calls(const CallRules& rules, std::string_view prompt);

// Returns the grammar of a schema; if the end of `prompt` has begun a thought, the rest of the
// thought comes first.
std::string grammar_of_answer(const SchemaGrammar& schema, const AnswerFormat& format,
                              const Tokenizer& tokenizer, std::string_view prompt);

}  // namespace kinglet::server
