// Requests for vectors of texts, for scores of texts against a query, or for labels of texts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "answers/encoding.h"
#include "json/json.h"
#include "model/pooling.h"
#include "openai/api_error.h"
#include "openai/deadline.h"
#include "openai/served_model.h"

namespace kinglet::openai {

constexpr size_t kMostTexts = 2048;

struct EmbeddingRequest {
  std::string model;  // as the client calls it
  std::vector<std::vector<TokenId>> texts = {};
  Pooling pooling = Pooling::mean;
  uint32_t dimensions = 0;  // keep this many first numbers of each vector; 0: all
  bool in_base64 = false;
};

struct RerankRequest {
  std::string model;
  std::vector<std::vector<TokenId>> texts = {};  // the query with each document
  std::vector<std::string> documents = {};       // to be returned; empty: not requested
  size_t n_top = 0;                              // number of best documents to return
};

struct ClassifyRequest {
  std::string model;
  std::vector<std::string> labels = {};
  Encoding encoding = {};
};

// POST /v1/embeddings
ApiResult<EmbeddingRequest> read_embedding_request(const Json& body, const ServedModel& model,
                                                   const Deadline& deadline = {});

// POST /v1/rerank: {query, documents, top_n, return_documents}
ApiResult<RerankRequest> read_rerank_request(const Json& body, const ServedModel& model,
                                             const Deadline& deadline = {});

// POST /v1/classify: {input} as vLLM has it, and for text models {labels, instruction, examples,
// per_token}
ApiResult<ClassifyRequest> read_classify_request(const Json& body, const ServedModel& model,
                                                 const Deadline& deadline = {});

}  // namespace kinglet::openai
