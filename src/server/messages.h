// Messages as OpenAI's API has them, made into those that chat templates expect.
#pragma once

#include "server/api_error.h"
#include "server/json.h"

namespace kinglet::server {

// `tools`: that the model is to be told of. `knows_tools`: its template does that; else a message
// does.
ApiResult<Json> template_messages(const Json& messages, const Json& tools, bool knows_tools);

}  // namespace kinglet::server
