// The grammar of answers that must be calls, in the syntax of the model's family.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/api_error.h"
#include "server/json.h"
#include "text/answer/answer_format.h"
#include "text/tokenizer.h"

namespace kinglet::server {

struct CallRules {
  const Json& tools;                    // one of which each call is of; at least one
  const std::vector<KnownTool>& known;  // the same
  const AnswerFormat& format;
  const Tokenizer& tokenizer;
  bool may_be_several = true;  // where the syntax allows it
};

// One call or more, and where the end of `prompt` has begun a thought, its rest in front of them.
// Marks that the vocabulary has tokens for are those tokens. An error names the tool, the place in
// its schema and what cannot be written there.
ApiResult<std::string> grammar_of_calls(const CallRules& rules, std::string_view prompt);

}  // namespace kinglet::server
