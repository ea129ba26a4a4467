// An index of documents, which finds the passages that are nearest to a query in meaning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/cancellation.h"
#include "base/result.h"
#include "model/pooling.h"
#include "search/document.h"
#include "search/prompts.h"
#include "search/words.h"
#include "session/language_model.h"
#include "text/vocabulary.h"

namespace kinglet {

struct SearchOptions {
  std::string model_name = {};  // the file's, for the prompts of known models
  // Unset: what the model was trained with.
  std::optional<std::string> query_prompt = {};
  std::optional<std::string> passage_prompt = {};
  std::optional<Pooling> pooling = {};
  uint32_t n_numbers = 0;     // keep this many first numbers of each vector; 0: all
  uint32_t max_tokens = 200;  // of a passage, or fewer if the model's context is shorter
};

// A passage that has no vector. Its document may be replaced before the vector is there.
struct PendingPassage {
  std::string id;
  uint32_t passage;
  std::string text;
};

struct SearchHit {
  const SearchDocument* document;
  uint32_t passage;
  float score;  // the cosine of query and passage; with words: see SearchQuery::words
};

struct SearchQuery {
  std::span<const float> vector = {};  // of length 1
  size_t limit = 10;
  // If not empty, passages are also ranked by these words. Their score is then the sum of
  // 1 / (60 + rank) in both rankings (reciprocal rank fusion, Cormack et al., 2009).
  std::string_view words = {};
  // Whether a document may be found; null: all.
  std::function<bool(const SearchDocument&)> allows = nullptr;
};

// Vectors are made by the caller: for a query of query_tokens(), and for each pending() passage of
// passage_tokens(), with pooling(), n_numbers() and a length of 1. Documents keep their order of
// ids. The model must outlive the index.
class SearchIndex {
 public:
  // Errors: missing_tensor (no weights), unsupported_feature (a reranker), missing_metadata (the
  // file names no pooling), invalid_argument (too many numbers, no pooling that makes one vector, a
  // prompt that leaves no room for passages).
  static Result<SearchIndex> create(const LanguageModel& loaded, const SearchOptions& options);

  Pooling pooling() const { return pooling_; }
  uint32_t n_numbers() const { return n_numbers_; }
  const SearchPrompts& prompts() const { return prompts_; }
  const std::map<std::string, SearchDocument>& documents() const { return documents_; }

  // Returns null if there is no such document.
  const SearchDocument* find(const std::string& id) const;

  // Cuts a text into passages. They are pending, unless the document of that id, which is replaced,
  // has the same passage. Errors, after which the index is as before: invalid_argument (not UTF-8,
  // 4 GiB or more), out_of_memory, cancelled.
  Result<const SearchDocument*> put(std::string id, std::string text, std::string info,
                                    const Cancellation& cancellation = {});

  // Adds or replaces a document that record() returned. If other settings made it, its passages are
  // pending. Errors: those of read_record() and put().
  Result<const SearchDocument*> load(std::span<const std::byte> record);

  // Returns whether there was such a document.
  bool remove(const std::string& id);

  // Returns a document to be stored. Errors: not_found, out_of_memory.
  Result<AlignedBuffer> record(const std::string& id) const;

  // Returns at most `limit` passages of a document that have no vector.
  std::vector<PendingPassage> pending(const std::string& id, size_t limit) const;

  // Returns the tokens of a passage with its prompt. Errors: those of embedding_tokens().
  Result<std::vector<TokenId>> passage_tokens(std::string_view text) const;

  // Does nothing if the passage is not in the index any more.
  void set_vector(const PendingPassage& pending, std::span<const float> vector);

  // Returns the tokens of a query with its prompt; its end is cut if it is too long. Errors: those
  // of embedding_tokens().
  Result<std::vector<TokenId>> query_tokens(std::string_view query,
                                            const Cancellation& cancellation = {}) const;

  // Returns the best passages, the best first; of equal ones, the first. Errors: invalid_argument
  // (a vector of another size).
  Result<std::vector<SearchHit>> search(const SearchQuery& query);

 private:
  explicit SearchIndex(const LanguageModel& loaded) : loaded_(&loaded) {}

  Status choose_settings(const SearchOptions& options);
  std::vector<SearchHit> nearest(const SearchQuery& query, size_t limit) const;
  std::vector<SearchHit> with_words(const SearchQuery& query, size_t limit);
  const PassageWords& words_of(const SearchDocument& document);
  const SearchDocument* keep(SearchDocument document);

  const LanguageModel* loaded_;
  SearchPrompts prompts_;
  Pooling pooling_{};
  uint32_t n_numbers_ = 0;
  uint32_t max_tokens_ = 0;
  uint64_t settings_ = 0;  // identifies all of them, and the model
  std::map<std::string, SearchDocument> documents_;
  std::map<std::string, PassageWords> words_;  // of documents that a query with words has seen
};

}  // namespace kinglet
