// Fields that requests of several kinds have.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/fields.h"
#include "server/generation_request.h"

namespace kinglet::server {

// How tokens are drawn and where texts end, how many choices there are, and how they are told.
ApiStatus read_generation_fields(Fields& fields, const ServedModel& model,
                                 GenerationRequest& request);

// `text` as GBNF that the answer must match.
ApiStatus constrain(std::string_view gbnf, GenerationRequest& request);

// Whether the model can begin with the prompts and draw as the options say.
ApiStatus check(const GenerationRequest& request, const ServedModel& model);

// Texts or their tokens, as OpenAI's "prompt" and "input" give them: one or several of either.
// `encode` makes tokens of a text.
ApiResult<std::vector<std::vector<TokenId>>> read_texts(
    Fields& fields, const std::string& name, const ServedModel& model, size_t most,
    const std::function<ApiResult<std::vector<TokenId>>(const std::string&)>& encode);

}  // namespace kinglet::server
