#include "search/index.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <queue>
#include <unordered_map>
#include <utility>

#include "base/format.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "kernels/kernels.h"
#include "session/encoder_input.h"
#include "tensor/kv_kind.h"

namespace kinglet {
namespace {

// Increase it when passages are cut differently.
constexpr uint32_t kCutVersion = 1;

constexpr uint32_t kOverlap = 32;
constexpr uint32_t kLeastTokens = 8;  // of a passage

// A ranking that a better one orders again has this many passages for each that is wanted.
constexpr size_t kRankedPerHit = 4;
constexpr size_t kLeastRanked = 50;

// The constant of reciprocal rank fusion in its paper.
constexpr float kRankConstant = 60.0f;

// BM25's constants, as Lucene has them.
constexpr float kSaturation = 1.2f;
constexpr float kLengthWeight = 0.75f;

// Whether `a` comes before `b`: by score, then in the order of the index.
bool is_better(const SearchHit& a, const SearchHit& b) {
  if (a.score != b.score) return a.score > b.score;
  if (a.document != b.document) return a.document->id < b.document->id;
  return a.passage < b.passage;
}

// Keeps the best hits.
class BestHits {
 public:
  explicit BestHits(size_t limit) : limit_(limit) {}

  bool accepts(const SearchHit& hit) const {
    return hits_.size() < limit_ || (limit_ > 0 && is_better(hit, hits_.top()));
  }

  // Adds a hit that it accepts.
  void add(const SearchHit& hit) {
    if (hits_.size() == limit_) hits_.pop();
    hits_.push(hit);
  }

  void offer(const SearchHit& hit) {
    if (accepts(hit)) add(hit);
  }

  std::vector<SearchHit> take() {
    std::vector<SearchHit> sorted;
    for (; !hits_.empty(); hits_.pop()) sorted.push_back(hits_.top());
    std::reverse(sorted.begin(), sorted.end());
    return sorted;
  }

 private:
  struct IsBetter {
    bool operator()(const SearchHit& a, const SearchHit& b) const { return is_better(a, b); }
  };

  size_t limit_;
  std::priority_queue<SearchHit, std::vector<SearchHit>, IsBetter> hits_;  // the worst on top
};

// Multiplies one vector by rows, with the kernels that multiply queries by keys.
class RowProducts {
 public:
  RowProducts(const KernelSet& kernels, std::span<const float> vector)
      : kernels_(kernels),
        stride_(static_cast<size_t>(round_up(vector.size(), kKvBlock))),
        query_(stride_),
        floats_(stride_),
        codes_(stride_) {
    std::copy(vector.begin(), vector.end(), query_.begin());
    scale_ = kernels.quantize_query(query_.data(), stride_, stride_, KvKind::int8, codes_.data());
  }

  // Calls f(row, product) for each of the rows, with the products of their codes.
  template <class F>
  void for_each(const PassageVectors& vectors, size_t n_rows, const F& f) const {
    alignas(kAlignment) std::array<float, kAttentionBlock> products;
    KvRows rows = vectors.codes();
    for (size_t begin = 0; begin < n_rows; begin += kAttentionBlock) {
      const size_t n = std::min(kAttentionBlock, n_rows - begin);
      multiply(KvKind::int8, rows, n, products.data());
      for (size_t i = 0; i < n; ++i) f(begin + i, products[i]);
      rows.codes += n * rows.code_stride;
      rows.scales += n * rows.scale_stride;
    }
  }

  // Returns the product with a row of binary16.
  float exact(const PassageVectors& vectors, size_t row) {
    alignas(kAlignment) std::array<float, kAttentionBlock> products;
    kv_kind_info(KvKind::f16).read_row(vectors.row(row).codes, nullptr, 0, stride_, floats_.data());
    const auto* floats = reinterpret_cast<const std::byte*>(floats_.data());
    multiply(KvKind::f32, {floats, 0, nullptr, 0}, 1, products.data());
    return products[0];
  }

 private:
  void multiply(KvKind kind, const KvRows& rows, size_t n, float* products) const {
    const float no_offset = 0;
    const Queries query = {.values = query_.data(),
                           .codes = codes_.data(),
                           .scales = &scale_,
                           .offsets = &no_offset,
                           .stride = stride_,
                           .head_dim = stride_,
                           .transposed = nullptr,
                           .transposed_codes = nullptr};
    attention_kernels(kernels_, kind).score(query, 1, rows, n, products);
  }

  const KernelSet& kernels_;
  size_t stride_;
  std::vector<float> query_;
  std::vector<float> floats_;  // one row
  std::vector<int16_t> codes_;
  float scale_ = 0;
};

}  // namespace

Result<SearchIndex> SearchIndex::create(const LanguageModel& loaded, const SearchOptions& options) {
  KINGLET_TRY(check_has_weights(loaded.model));
  SearchIndex index(loaded);
  KINGLET_TRY(index.choose_settings(options));
  return index;
}

Status SearchIndex::choose_settings(const SearchOptions& options) {
  const Model& model = loaded_->model;
  if (options.pooling) {
    pooling_ = *options.pooling;
    if (pooling_ == Pooling::none) {
      return Error{ErrorCode::invalid_argument,
                   "pooling \"none\" makes several vectors of a text: use mean, cls or last"};
    }
    KINGLET_TRY(check_makes_vectors(pooling_));
  } else {
    KINGLET_ASSIGN(pooling_, vector_pooling(model.config()));
  }
  const size_t n_all = model.weights().head.embedding_dim();
  if (options.n_numbers > n_all) {
    return Error{ErrorCode::invalid_argument, cat("the model's embeddings have ", n_all,
                                                  " dimensions, not ", options.n_numbers)};
  }
  n_numbers_ = options.n_numbers == 0 ? static_cast<uint32_t>(n_all) : options.n_numbers;
  const auto architecture = model.header().get_string("general.architecture", "");
  prompts_ = search_prompts(architecture.ok() ? architecture.value() : "", options.model_name);
  if (options.query_prompt) prompts_.query = *options.query_prompt;
  if (options.passage_prompt) prompts_.passage = *options.passage_prompt;

  // A passage may become a few tokens longer beside its prompt.
  KINGLET_ASSIGN(const auto around,
                 embedding_tokens(*loaded_, prompts_.passage + "a", TooLong::fail));
  const size_t n_context = model.config().context_length;
  const size_t n_room = n_context > around.size() ? (n_context - around.size()) / 8 * 7 : 0;
  max_tokens_ = static_cast<uint32_t>(std::min<size_t>(options.max_tokens, n_room));
  if (max_tokens_ < kLeastTokens) {
    return Error{ErrorCode::invalid_argument,
                 cat("passages of ", max_tokens_, " tokens are too short, expected at least ",
                     kLeastTokens, "; the model's context has ", n_context, " positions, and ",
                     around.size(), " are for the prompt")};
  }
  settings_ = hash_text(cat(kCutVersion, " ", model.identity(0), " ", pooling_name(pooling_), " ",
                            n_numbers_, " ", max_tokens_, " ", prompts_.passage));
  return {};
}

const SearchDocument* SearchIndex::find(const std::string& id) const {
  const auto found = documents_.find(id);
  return found == documents_.end() ? nullptr : &found->second;
}

Result<const SearchDocument*> SearchIndex::put(std::string id, std::string text, std::string info,
                                               const Cancellation& cancellation) {
  if (text.size() > UINT32_MAX) {
    return Error{ErrorCode::invalid_argument,
                 cat("a text of ", text.size(), " bytes, expected less than 4 GiB")};
  }
  if (const size_t bad = find_ill_formed(text); bad != std::string::npos) {
    return Error{ErrorCode::invalid_argument, cat("the text is not UTF-8 at byte ", bad)};
  }
  const EncodeOptions plain = {
      .add_bos = false, .parse_special = false, .cancellation = cancellation};
  std::vector<Passage> passages =
      cut_passages(text, {.max_tokens = max_tokens_,
                          .overlap = std::min(kOverlap, max_tokens_ / 6),
                          .count_tokens = [&](std::string_view part) {
                            return loaded_->tokenizer->encode(part, plain).size();
                          }});
  if (cancellation.requested()) return Error{ErrorCode::cancelled, "cancelled"};
  KINGLET_ASSIGN(PassageVectors vectors, PassageVectors::create(passages.size(), n_numbers_));
  if (const SearchDocument* before = find(id)) {
    std::unordered_map<std::string_view, size_t> known;
    for (size_t i = 0; i < before->passages.size(); ++i) {
      if (before->vectors.has(i)) known.emplace(before->passages[i].of(before->text), i);
    }
    for (size_t i = 0; i < passages.size(); ++i) {
      const auto found = known.find(passages[i].of(text));
      if (found != known.end()) vectors.copy_row(i, before->vectors, found->second);
    }
  }
  return keep(
      {std::move(id), std::move(info), std::move(text), std::move(passages), std::move(vectors)});
}

Result<const SearchDocument*> SearchIndex::load(std::span<const std::byte> record) {
  KINGLET_ASSIGN(SearchRecord read, read_record(record));
  if (read.settings == settings_ && read.document.vectors.n_numbers() == n_numbers_) {
    return keep(std::move(read.document));
  }
  SearchDocument& old = read.document;
  remove(old.id);  // its vectors may not be reused
  return put(std::move(old.id), std::move(old.text), std::move(old.info));
}

const SearchDocument* SearchIndex::keep(SearchDocument document) {
  const std::string id = document.id;
  words_.erase(id);
  return &documents_.insert_or_assign(id, std::move(document)).first->second;
}

bool SearchIndex::remove(const std::string& id) {
  words_.erase(id);
  return documents_.erase(id) > 0;
}

Result<AlignedBuffer> SearchIndex::record(const std::string& id) const {
  const SearchDocument* document = find(id);
  if (document == nullptr) {
    return Error{ErrorCode::not_found, cat("the index has no document \"", id, "\"")};
  }
  return write_record(*document, settings_);
}

std::vector<PendingPassage> SearchIndex::pending(const std::string& id, size_t limit) const {
  std::vector<PendingPassage> pending;
  const SearchDocument* document = find(id);
  if (document == nullptr) return pending;
  for (uint32_t i = 0; i < document->passages.size() && pending.size() < limit; ++i) {
    if (document->vectors.has(i)) continue;
    pending.push_back({id, i, std::string(document->passages[i].of(document->text))});
  }
  return pending;
}

Result<std::vector<TokenId>> SearchIndex::passage_tokens(std::string_view text) const {
  return embedding_tokens(*loaded_, cat(prompts_.passage, text), TooLong::cut);
}

void SearchIndex::set_vector(const PendingPassage& pending, std::span<const float> vector) {
  const auto found = documents_.find(pending.id);
  if (found == documents_.end()) return;
  SearchDocument& document = found->second;
  if (pending.passage >= document.passages.size()) return;
  const std::string_view text = document.passages[pending.passage].of(document.text);
  if (text == pending.text) document.vectors.set(pending.passage, vector);
}

Result<std::vector<TokenId>> SearchIndex::query_tokens(std::string_view query,
                                                       const Cancellation& cancellation) const {
  return embedding_tokens(*loaded_, cat(prompts_.query, query), TooLong::cut, cancellation);
}

Result<std::vector<SearchHit>> SearchIndex::search(const SearchQuery& query) {
  if (query.vector.size() != n_numbers_) {
    return Error{ErrorCode::invalid_argument, cat("the query's vector has ", query.vector.size(),
                                                  " numbers, expected ", n_numbers_)};
  }
  if (query.words.empty()) return nearest(query, query.limit);

  const size_t n_ranked = std::max(query.limit * kRankedPerHit, kLeastRanked);
  std::map<std::pair<std::string_view, uint32_t>, SearchHit> fused;
  for (const auto& ranking : {nearest(query, n_ranked), with_words(query, n_ranked)}) {
    for (size_t i = 0; i < ranking.size(); ++i) {
      const SearchHit& hit = ranking[i];
      SearchHit& sum = fused
                           .try_emplace({hit.document->id, hit.passage},
                                        SearchHit{hit.document, hit.passage, 0.0f})
                           .first->second;
      sum.score += 1.0f / (kRankConstant + static_cast<float>(i + 1));
    }
  }
  BestHits best(query.limit);
  for (const auto& [place, hit] : fused) best.offer(hit);
  return best.take();
}

// First finds more than enough passages by their codes, then orders these by what is more exact.
std::vector<SearchHit> SearchIndex::nearest(const SearchQuery& query, size_t limit) const {
  BestHits likely(std::max(limit * kRankedPerHit, kLeastRanked));
  RowProducts products(loaded_->model.kernels(), query.vector);
  for (const auto& [id, document] : documents_) {
    if (query.allows && !query.allows(document)) continue;
    const PassageVectors& vectors = document.vectors;
    products.for_each(vectors, document.passages.size(),
                      [&, of = &document](size_t row, float product) {
                        const SearchHit hit = {of, static_cast<uint32_t>(row), product};
                        if (likely.accepts(hit) && vectors.has(row)) likely.add(hit);
                      });
  }
  BestHits best(limit);
  for (SearchHit hit : likely.take()) {
    hit.score = products.exact(hit.document->vectors, hit.passage);
    best.offer(hit);
  }
  return best.take();
}

// Returns the best passages by BM25. Passages without any of the words are not among them.
std::vector<SearchHit> SearchIndex::with_words(const SearchQuery& query, size_t limit) {
  std::vector<uint32_t> wanted = word_hashes(query.words);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());

  // First, how many passages have each word, and how long passages are.
  std::vector<const SearchDocument*> among;
  std::vector<size_t> n_with(wanted.size());
  size_t n_passages = 0;
  uint64_t n_words = 0;
  for (const auto& [id, document] : documents_) {
    if (query.allows && !query.allows(document)) continue;
    among.push_back(&document);
    const PassageWords& words = words_of(document);
    n_passages += words.lengths().size();
    for (const uint32_t length : words.lengths()) n_words += length;
    for (size_t i = 0; i < wanted.size(); ++i) n_with[i] += words.find(wanted[i]).size();
  }
  const float usual_length =
      static_cast<float>(n_words) / static_cast<float>(std::max<size_t>(n_passages, 1));

  BestHits best(limit);
  for (const SearchDocument* document : among) {
    const PassageWords& words = words_of(*document);
    std::map<uint32_t, float> scores;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const auto n = static_cast<float>(n_with[i]);
      const float rarity =
          std::log(1.0f + (static_cast<float>(n_passages) - n + 0.5f) / (n + 0.5f));
      for (const auto& [word, passage, n_times] : words.find(wanted[i])) {
        const float length = static_cast<float>(words.lengths()[passage]) / usual_length;
        const float often = static_cast<float>(n_times);
        scores[passage] += rarity * often * (kSaturation + 1.0f) /
                           (often + kSaturation * (1.0f - kLengthWeight + kLengthWeight * length));
      }
    }
    for (const auto& [passage, score] : scores) {
      if (document->vectors.has(passage)) best.offer({document, passage, score});
    }
  }
  return best.take();
}

const PassageWords& SearchIndex::words_of(const SearchDocument& document) {
  const auto found = words_.find(document.id);
  if (found != words_.end()) return found->second;
  return words_.try_emplace(document.id, document.text, document.passages).first->second;
}

}  // namespace kinglet
