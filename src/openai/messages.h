// Reads the messages of OpenAI's API.
#pragma once

#include "json/json.h"
#include "openai/api_error.h"
#include "openai/deadline.h"

namespace kinglet::openai {

// Checks the messages, and returns them as ChatLayout takes them: their contents are texts.
ApiResult<Json> read_messages(const Json& messages, const Deadline& deadline = {});

}  // namespace kinglet::openai
