// Answers to requests for vectors or scores.
#pragma once

#include <cstddef>
#include <vector>

#include "answers/encoding_run.h"
#include "json/json.h"
#include "openai/encoding_request.h"

namespace kinglet::openai {

// `rows`: one for each text of the request, its vector or its scores.
Json embedding_answer(const EmbeddingRequest& request, const Rows& rows);

// The best documents first; those with equal scores in the request's order.
Json rerank_answer(const RerankRequest& request, const Rows& rows);

// vLLM's answer: for each text its most probable label, and the probabilities in the order of the
// labels.
Json classify_answer(const ClassifyRequest& request, const Rows& rows);

size_t count_tokens(const std::vector<std::vector<TokenId>>& texts);

}  // namespace kinglet::openai
