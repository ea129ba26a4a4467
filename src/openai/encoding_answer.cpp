#include "openai/encoding_answer.h"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "base/random_name.h"

namespace kinglet::openai {
namespace {

// Returns the Base64 of the floats' bytes as they are in memory: little-endian.
std::string base64(std::span<const float> numbers) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto* bytes = reinterpret_cast<const unsigned char*>(numbers.data());
  const size_t n = numbers.size_bytes();
  std::string out;
  for (size_t i = 0; i < n; i += 3) {
    const size_t left = n - i;
    const uint32_t bits = static_cast<uint32_t>(bytes[i]) << 16 |
                          (left > 1 ? static_cast<uint32_t>(bytes[i + 1]) << 8 : 0) |
                          (left > 2 ? bytes[i + 2] : 0);
    for (size_t digit = 0; digit < 4; ++digit) {
      out += digit <= left ? kDigits[bits >> (18 - 6 * digit) & 63] : '=';
    }
  }
  return out;
}

Json usage_of(const std::vector<std::vector<TokenId>>& texts) {
  const size_t n_tokens = count_tokens(texts);
  return {{"prompt_tokens", n_tokens}, {"total_tokens", n_tokens}};
}

}  // namespace

size_t count_tokens(const std::vector<std::vector<TokenId>>& texts) {
  size_t n = 0;
  for (const auto& text : texts) n += text.size();
  return n;
}

Json embedding_answer(const EmbeddingRequest& request, const Rows& rows) {
  Json data = Json::array();
  for (const std::vector<float>& row : rows) {
    Json vector = request.in_base64 ? Json(base64(row)) : Json(Json::Array(row.begin(), row.end()));
    data.push_back(
        {{"object", "embedding"}, {"index", data.size()}, {"embedding", std::move(vector)}});
  }
  return {{"object", "list"},
          {"data", std::move(data)},
          {"model", request.model},
          {"usage", usage_of(request.texts)}};
}

Json rerank_answer(const RerankRequest& request, const Rows& rows) {
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return rows[a].front() != rows[b].front() ? rows[a].front() > rows[b].front() : a < b;
  });
  order.resize(request.n_top);
  Json results = Json::array();
  for (const size_t i : order) {
    Json result = {{"index", i}, {"relevance_score", rows[i].front()}};
    if (!request.documents.empty()) result["document"] = {{"text", request.documents[i]}};
    results.push_back(std::move(result));
  }
  return {{"object", "list"},
          {"model", request.model},
          {"results", std::move(results)},
          {"usage", usage_of(request.texts)}};
}

Json classify_answer(const ClassifyRequest& request, const Rows& rows) {
  Json data = Json::array();
  for (const std::vector<float>& row : rows) {
    const auto best = std::max_element(row.begin(), row.end()) - row.begin();
    data.push_back({{"index", data.size()},
                    {"label", request.labels[static_cast<size_t>(best)]},
                    {"probs", Json(Json::Array(row.begin(), row.end()))},
                    {"num_classes", row.size()}});
  }
  return {{"id", cat("classify-", random_name(24))},
          {"object", "list"},
          {"created", static_cast<int64_t>(std::time(nullptr))},
          {"model", request.model},
          {"data", std::move(data)},
          {"usage", usage_of(request.encoding.texts)}};
}

}  // namespace kinglet::openai
