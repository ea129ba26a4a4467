// Fields that several kinds of requests share.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "openai/fields.h"
#include "openai/generation_request.h"

namespace kinglet::openai {

// Reads the fields that say how tokens are sampled, where texts end, how many choices to make, and
// whether to stream them.
ApiStatus read_generation_fields(Fields& fields, const ServedModel& model,
                                 GenerationRequest& request);

// Checks that the sampling and stop options are valid.
ApiStatus check_options(const GenerationRequest& request, const ServedModel& model);

// Checks that a prompt is not empty and fits the context.
ApiStatus check_prompt(const std::vector<TokenId>& prompt, const ServedModel& model);

// Reads OpenAI's "prompt" or "input": one or several texts, or lists of token ids. `encode`
// converts a text to tokens, and `check` refuses tokens. Their errors name the field, and in a list
// the text: "input[1]: the text has …".
ApiResult<std::vector<std::vector<TokenId>>> read_texts(
    Fields& fields, const std::string& name, const ServedModel& model, size_t most,
    const std::function<ApiResult<std::vector<TokenId>>(const std::string&)>& encode,
    const std::function<ApiStatus(const std::vector<TokenId>&)>& check);

}  // namespace kinglet::openai
