// Messages as OpenAI's API has them, made into those that chat templates expect.
#pragma once

#include "server/api_error.h"
#include "server/json.h"
#include "server/served_model.h"

namespace kinglet::server {

// `tools`: that the model is to be told of, in a message where its template does not.
ApiResult<Json> template_messages(const Json& messages, const Json& tools, const ToolStyle& style);

}  // namespace kinglet::server
