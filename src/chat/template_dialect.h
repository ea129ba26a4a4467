// Adapts conversations to what chat templates know.
#pragma once

#include "base/cancellation.h"
#include "base/result.h"
#include "json/json.h"

namespace kinglet {

// What a chat template knows of conversations.
struct TemplateDialect {
  bool knows_tools = false;      // describes tools to the model
  bool knows_calls = false;      // shows calls of tools, and their results
  bool knows_developer = false;  // the role that OpenAI's newer models call the system
};

// Returns the messages as such a template expects them. If it does not know tools, the system
// message describes them, and asks for calls as Hermes writes them; earlier calls and results are
// then texts, too. Errors: invalid_argument (arguments of an earlier call are a text, but not
// JSON), cancelled.
Result<Json> in_dialect(Json messages, const Json& tools, const TemplateDialect& dialect,
                        const Cancellation& cancellation = {});

}  // namespace kinglet
