// Converts the input of OpenAI's Responses API to messages of its chat API.
#pragma once

#include "json/json.h"
#include "openai/api_error.h"
#include "openai/deadline.h"

namespace kinglet::openai {

// Appends the messages of "input": a text, or a list of items (messages, thoughts, calls and their
// results). The items of one answer become one message of the assistant.
ApiStatus add_input(const Json& input, const Deadline& deadline, Json& messages);

}  // namespace kinglet::openai
