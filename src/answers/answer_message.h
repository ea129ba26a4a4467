// An answer as a message of its conversation, in the form of OpenAI's API.
#pragma once

#include "answers/answer.h"
#include "json/json.h"

namespace kinglet {

// Adds what an event adds: to "content", "reasoning_content" and "tool_calls".
void add_to(Json& message, const AnswerDelta& added);

}  // namespace kinglet
