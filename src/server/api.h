// The names of src/openai that the server uses.
#pragma once

#include "openai/api.h"
#include "openai/picture_parts.h"

namespace kinglet::server {

using openai::AnswerOrWork;
using openai::AnswerWriter;
using openai::api_error;
using openai::ApiError;
using openai::ApiResult;
using openai::ApiStatus;
using openai::ChoiceWork;
using openai::count_tokens;
using openai::Deadline;
using openai::EncodingWork;
using openai::file_of_url;
using openai::invalid;
using openai::kEndpoints;
using openai::nothing_at;
using openai::read_body;
using openai::read_request;
using openai::ReadPictures;
using openai::ServedModel;
using openai::ServedOptions;
using openai::TextAnswer;
using openai::to_json;
using openai::Usage;

}  // namespace kinglet::server
