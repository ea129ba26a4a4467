// Converts the messages of OpenAI's API to those that chat templates expect.
#pragma once

#include "json/json.h"
#include "openai/api_error.h"
#include "openai/patience.h"

namespace kinglet::openai {

// `tools` are those to describe to the model. `knows_tools`: the template describes them; otherwise
// the system message does.
ApiResult<Json> template_messages(const Json& messages, const Json& tools, bool knows_tools,
                                  const Patience& patience = {});

}  // namespace kinglet::openai
