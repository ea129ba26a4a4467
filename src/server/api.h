// The names of src/openai that the server uses.
#pragma once

#include "openai/answer_writer.h"
#include "openai/api_error.h"
#include "openai/encoding_answer.h"
#include "openai/encoding_request.h"
#include "openai/generation_request.h"
#include "openai/patience.h"
#include "openai/response_request.h"
#include "openai/response_writer.h"
#include "openai/served_model.h"

namespace kinglet::server {

using openai::AnswerWriter;
using openai::api_error;
using openai::ApiError;
using openai::ApiResult;
using openai::ApiStatus;
using openai::ChatRequest;
using openai::ChatWriter;
using openai::CompletionWriter;
using openai::count_chat_tokens;
using openai::count_response_tokens;
using openai::count_tokens;
using openai::EmbeddingRequest;
using openai::GenerationPrompt;
using openai::GenerationRequest;
using openai::invalid;
using openai::Look;
using openai::options_of_choice;
using openai::Patience;
using openai::PictureParts;
using openai::RerankRequest;
using openai::ResponseRequest;
using openai::ResponseWriter;
using openai::ServedModel;
using openai::Usage;

}  // namespace kinglet::server
