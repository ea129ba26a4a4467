// Makes the vectors of a search index.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "answers/encoding_run.h"
#include "base/cancellation.h"
#include "base/result.h"
#include "search/index.h"

namespace kinglet {

// Returns a job that computes at most `limit` pending passages of a document. When it has ended,
// calls done() with the number of passages that were computed; 0: none was pending. The index must
// outlive the job. Errors: those of SearchIndex::passage_tokens().
Result<EncodingJob> indexing_job(SearchIndex& index, const std::string& id, size_t limit,
                                 const Cancellation& cancellation,
                                 std::function<void(Result<size_t>)> done);

// Returns the job of a query, whose rows are one vector. Errors: those of
// SearchIndex::query_tokens().
Result<EncodingJob> query_job(const SearchIndex& index, std::string_view query,
                              const Cancellation& cancellation,
                              std::function<void(Result<Rows>)> deliver);

}  // namespace kinglet
