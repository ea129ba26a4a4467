// OpenAI's API without a network: from a request's path and body to what answers it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "answers/encoding_run.h"
#include "json/json.h"
#include "openai/api_error.h"
#include "openai/deadline.h"
#include "openai/encoding_answer.h"
#include "openai/generation_request.h"
#include "openai/served_model.h"
#include "openai/text_answer.h"

namespace kinglet::openai {

// The paths of POST requests, without "/v1".
constexpr std::string_view kEndpoints[] = {"/chat/completions",
                                           "/chat/completions/input_tokens",
                                           "/completions",
                                           "/responses",
                                           "/responses/input_tokens",
                                           "/embeddings",
                                           "/rerank",
                                           "/classify"};

// Texts whose vectors or scores are needed.
struct EncodingWork {
  Encoding encoding;
  std::function<Json(const Rows&)> answer;  // makes the whole answer
};

// A whole answer, or what must be computed for it.
using AnswerOrWork = std::variant<Json, TextAnswer, EncodingWork>;

// Reads the body of a request: the text of a JSON object.
ApiResult<Json> read_body(std::string_view text, const Deadline& deadline = {});

// The error for an address where nothing is.
ApiError nothing_at(const std::string& method, const std::string& path);

// Reads a request to one of kEndpoints.
ApiResult<AnswerOrWork> read_request(std::string_view endpoint, const Json& body,
                                     const ServedModel& model, const ReadPictures& read_pictures,
                                     const Deadline& deadline = {});

}  // namespace kinglet::openai
