// What a client asks to be made of texts: vectors, or scores for a query.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/pooling.h"
#include "server/api_error.h"
#include "server/json.h"
#include "server/served_model.h"

namespace kinglet::server {

constexpr size_t kMostTexts = 2048;

struct EmbeddingRequest {
  std::string model;  // as the client calls it
  std::vector<std::vector<TokenId>> texts = {};
  Pooling pooling = Pooling::mean;
  uint32_t dimensions = 0;  // first numbers to keep; 0: all
  bool in_base64 = false;
};

struct RerankRequest {
  std::string model;
  std::vector<std::vector<TokenId>> texts = {};  // the query with each document
  std::vector<std::string> documents = {};       // to be given back; empty: not asked for
  size_t n_top = 0;                              // best ones to tell
};

// POST /v1/embeddings
ApiResult<EmbeddingRequest> read_embedding_request(const Json& body, const ServedModel& model);

// POST /v1/rerank: {query, documents, top_n, return_documents}
ApiResult<RerankRequest> read_rerank_request(const Json& body, const ServedModel& model);

}  // namespace kinglet::server
