#include "answers/indexing.h"

#include <utility>
#include <vector>

namespace kinglet {
namespace {

Encoding encoding_of(const SearchIndex& index) {
  return {.pooling = index.pooling(), .n_numbers = index.n_numbers(), .normalizes = true};
}

}  // namespace

Result<EncodingJob> indexing_job(SearchIndex& index, const std::string& id, size_t limit,
                                 const Cancellation& cancellation,
                                 std::function<void(Result<size_t>)> done) {
  std::vector<PendingPassage> pending = index.pending(id, limit);
  Encoding encoding = encoding_of(index);
  for (const PendingPassage& passage : pending) {
    KINGLET_ASSIGN(std::vector<TokenId> tokens, index.passage_tokens(passage.text));
    encoding.texts.push_back(std::move(tokens));
  }
  const auto deliver = [&index, pending = std::move(pending),
                        done = std::move(done)](const Result<Rows>& rows) {
    if (!rows.ok()) return done(rows.error());
    for (size_t i = 0; i < pending.size(); ++i) index.set_vector(pending[i], rows.value()[i]);
    done(pending.size());
  };
  return EncodingJob{
      .encoding = std::move(encoding), .cancellation = cancellation, .deliver = deliver};
}

Result<EncodingJob> query_job(const SearchIndex& index, std::string_view query,
                              const Cancellation& cancellation,
                              std::function<void(Result<Rows>)> deliver) {
  Encoding encoding = encoding_of(index);
  KINGLET_ASSIGN(std::vector<TokenId> tokens, index.query_tokens(query, cancellation));
  encoding.texts.push_back(std::move(tokens));
  return EncodingJob{
      .encoding = std::move(encoding), .cancellation = cancellation, .deliver = std::move(deliver)};
}

}  // namespace kinglet
