// Requests of OpenAI's Responses API (POST /v1/responses). Answers are not kept, so what needs an
// earlier answer is refused.
#pragma once

#include <cstddef>

#include "json/json.h"
#include "openai/api_error.h"
#include "openai/deadline.h"
#include "openai/generation_request.h"
#include "openai/served_model.h"

namespace kinglet::openai {

struct ResponseRequest : GenerationRequest {
  Json repeated;  // the members of the answer that repeat the request
};

ApiResult<ResponseRequest> read_response_request(const Json& body, const ServedModel& model,
                                                 const ReadPictures& read_pictures,
                                                 const Deadline& deadline = {});

// Returns the tokens of the request's prompt, which may be longer than the context
// (POST /v1/responses/input_tokens).
ApiResult<size_t> count_response_tokens(const Json& body, const ServedModel& model,
                                        const ReadPictures& read_pictures,
                                        const Deadline& deadline = {});

// Returns the request of the chat API that has the same answer. Parameters that have the same name
// there are checked by its reader only.
ApiResult<Json> chat_body(const Json& body, const Deadline& deadline = {});

}  // namespace kinglet::openai
