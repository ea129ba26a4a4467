#include "search/index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "answers/indexing.h"
#include "session/sessions.h"

namespace kinglet {
namespace {

using Vector = std::vector<float>;

// A model with everything that an index needs to make vectors.
struct Search {
  LanguageModel loaded;
  ThreadPool pool{1};
  EncodingRun run{loaded.model, pool};
  SearchIndex index;
  size_t n_computed = 0;

  explicit Search(const SearchOptions& options = {}, std::string_view kernels = "")
      : loaded(load_stories(kernels)), index(make(loaded, options)) {}

  static SearchIndex make(const LanguageModel& loaded, const SearchOptions& options) {
    auto index = SearchIndex::create(loaded, options);
    EXPECT_TRUE(index.ok()) << index.error().message;
    return std::move(index.value());
  }

  void put(const std::string& id, const std::string& text) {
    const auto document = index.put(id, text, "");
    ASSERT_TRUE(document.ok()) << document.error().message;
    compute(id);
  }

  void compute(const std::string& id) {
    size_t n = 1;
    while (n > 0) {
      auto job = indexing_job(index, id, 2, {}, [&](const Result<size_t>& done) {
        ASSERT_TRUE(done.ok()) << done.error().message;
        n = done.value();
      });
      ASSERT_TRUE(job.ok());
      run.submit(std::move(job.value()));
      while (run.is_busy()) run.advance();
      n_computed += n;
    }
  }

  Vector vector_of(std::string_view query) {
    Vector vector;
    auto job = query_job(index, query, {}, [&](const Result<Rows>& rows) {
      ASSERT_TRUE(rows.ok());
      vector = rows.value().front();
    });
    EXPECT_TRUE(job.ok());
    run.submit(std::move(job.value()));
    while (run.is_busy()) run.advance();
    return vector;
  }

  std::vector<SearchHit> search(const SearchQuery& query) {
    auto hits = index.search(query);
    EXPECT_TRUE(hits.ok()) << hits.error().message;
    return hits.value();
  }
};

std::vector<std::string> ids_of(const std::vector<SearchHit>& hits) {
  std::vector<std::string> ids;
  for (const SearchHit& hit : hits) ids.push_back(hit.document->id);
  return ids;
}

const std::string kCats = "The cat sat on the mat. It was a happy cat.";
const std::string kBoats = "The boat was on the sea. A big fish swam by.";

TEST(SearchIndex, FindsTheTextItself) {
  Search search;
  search.put("cats", kCats);
  search.put("boats", kBoats);
  for (const auto& [id, text] : {std::pair("cats", kCats), std::pair("boats", kBoats)}) {
    const Vector vector = search.vector_of(text);
    const auto hits = search.search({.vector = vector, .limit = 1});
    ASSERT_EQ(ids_of(hits), std::vector<std::string>{id});
    EXPECT_NEAR(hits[0].score, 1.0f, 2e-3f);
  }
}

TEST(SearchIndex, ComputesOnlyPassagesThatChanged) {
  Search search({.max_tokens = 16});
  const std::string before = kCats + "\n\n" + kBoats;
  search.put("a", before);
  const size_t n_all = search.n_computed;
  ASSERT_GE(n_all, 3u);
  search.put("a", before + "\n\nOnce upon a time.");
  EXPECT_LE(search.n_computed, n_all + 2);
  search.n_computed = 0;
  search.put("a", before);
  EXPECT_LE(search.n_computed, 1u);
  EXPECT_EQ(search.index.find("a")->n_pending(), 0u);
}

TEST(SearchIndex, FindsNothingThatIsPendingOrRemoved) {
  Search search;
  ASSERT_TRUE(search.index.put("a", kCats, "info").ok());
  const Vector vector = search.vector_of(kCats);
  EXPECT_TRUE(search.search({.vector = vector}).empty());
  EXPECT_EQ(search.index.find("a")->n_pending(), 1u);
  search.compute("a");
  EXPECT_EQ(search.search({.vector = vector}).size(), 1u);
  EXPECT_TRUE(search.index.remove("a"));
  EXPECT_FALSE(search.index.remove("a"));
  EXPECT_TRUE(search.search({.vector = vector}).empty());
}

TEST(SearchIndex, IgnoresVectorsOfPassagesThatWereReplaced) {
  Search search;
  ASSERT_TRUE(search.index.put("a", kCats, "").ok());
  const auto pending = search.index.pending("a", 10);
  ASSERT_EQ(pending.size(), 1u);
  ASSERT_TRUE(search.index.put("a", kBoats, "").ok());
  search.index.set_vector(pending[0], search.vector_of(kCats));
  EXPECT_EQ(search.index.find("a")->n_pending(), 1u);
  search.index.remove("a");
  search.index.set_vector(pending[0], search.vector_of(kCats));
  EXPECT_EQ(search.index.find("a"), nullptr);
}

TEST(SearchIndex, StoresDocuments) {
  Search search;
  search.put("a\nb", kCats);
  const auto record = search.index.record("a\nb");
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(search.index.record("x").error().code, ErrorCode::not_found);

  Search other;
  const auto document = other.index.load(record.value().bytes());
  ASSERT_TRUE(document.ok()) << document.error().message;
  EXPECT_EQ(document.value()->text, kCats);
  EXPECT_EQ(document.value()->n_pending(), 0u);
  EXPECT_EQ(other.search({.vector = other.vector_of(kCats)}).size(), 1u);

  // Other settings: the text stays, the vectors do not.
  Search changed({.passage_prompt = "text: "});
  ASSERT_TRUE(changed.index.load(record.value().bytes()).ok());
  EXPECT_EQ(changed.index.find("a\nb")->n_pending(), 1u);
}

TEST(SearchIndex, RefusesDamagedDocuments) {
  Search search;
  search.put("a", kCats);
  const auto record = search.index.record("a");
  ASSERT_TRUE(record.ok());
  const Bytes whole(record.value().bytes().begin(), record.value().bytes().end());
  for (size_t i = 0; i < whole.size(); ++i) {
    Bytes damaged = whole;
    damaged[i] ^= std::byte{4};
    const auto read = search.index.load(damaged);
    ASSERT_FALSE(read.ok()) << i;
    const ErrorCode code = read.error().code;
    ASSERT_TRUE(code == ErrorCode::corrupt || code == ErrorCode::unsupported_version) << i;
  }
  for (size_t n = 0; n < whole.size(); n += 7) {
    ASSERT_EQ(search.index.load(std::span(whole).first(n)).error().code, ErrorCode::corrupt) << n;
  }
  EXPECT_EQ(search.index.find("a")->n_pending(), 0u);
}

TEST(SearchIndex, TakesNoMemoryForVectorsThatARecordLacks) {
  auto vectors = PassageVectors::create(0, UINT32_MAX);
  ASSERT_TRUE(vectors.ok());
  const auto record = write_record({"a", "", "", {}, std::move(vectors.value())}, 1);
  ASSERT_TRUE(record.ok());
  Search search;
  ASSERT_TRUE(search.index.load(record.value().bytes()).ok());
  EXPECT_EQ(search.index.find("a")->n_pending(), 0u);
}

TEST(SearchIndex, RefusesVectorsThatAreNotFinite) {
  for (const float number : {NAN, INFINITY}) {
    auto vectors = PassageVectors::create(1, 40);
    ASSERT_TRUE(vectors.ok());
    std::vector<float> vector(40, 0.1f);
    vectors.value().set(0, vector);
    const Half bad = to_half(number);
    std::memcpy(vectors.value().bytes().data() + sizeof(Half), &bad, sizeof bad);
    const auto record = write_record({"a", "", "b", {{0, 1}}, std::move(vectors.value())}, 1);
    ASSERT_TRUE(record.ok());
    const auto read = read_record(record.value().bytes());
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().message,
              "not a document of a search index: a number of its vectors is not finite");
  }
}

TEST(SearchIndex, FindsWordsThatVectorsMiss) {
  Search search;
  search.put("a", kCats);
  search.put("b", kBoats);
  search.put("c", "Order number QX71 was sent.");
  const Vector vector = search.vector_of(kBoats);
  const auto hits = search.search({.vector = vector, .limit = 3, .words = "QX71"});
  ASSERT_EQ(hits.size(), 3u);
  // Rank 1 of words and, at worst, rank 3 of vectors.
  EXPECT_EQ(hits[0].document->id, "c");
  EXPECT_GE(hits[0].score, 1.0f / 61 + 1.0f / 63 - 1e-6f);
}

TEST(SearchIndex, RanksWordsByBm25) {
  Search search;
  search.put("a", "red red blue");
  search.put("b", "red green green green green");
  search.put("c", "blue blue blue");
  // Vectors rank all the same: those of a vector without length.
  const Vector zero(search.index.n_numbers());
  const auto hits = search.search({.vector = zero, .limit = 3, .words = "green red"});
  // Rankings: a, b, c by vectors (all equal: by id); b, a by words, because "green" is rarer.
  ASSERT_EQ(hits.size(), 3u);
  EXPECT_NEAR(hits[0].score, 1.0f / 61 + 1.0f / 62, 1e-6f);
  EXPECT_NEAR(hits[1].score, 1.0f / 61 + 1.0f / 62, 1e-6f);
  EXPECT_EQ(hits[2].document->id, "c");
  EXPECT_NEAR(hits[2].score, 1.0f / 63, 1e-6f);
}

TEST(SearchIndex, FindsOnlyWhatIsAllowed) {
  Search search;
  search.put("a", kCats);
  search.put("b", kBoats);
  const Vector vector = search.vector_of(kCats);
  const auto only_b = [](const SearchDocument& document) { return document.id == "b"; };
  for (const std::string_view words : {"", "cat"}) {
    EXPECT_EQ(ids_of(search.search({.vector = vector, .words = words, .allows = only_b})),
              std::vector<std::string>{"b"});
  }
}

// The best of many vectors are those that 64-bit products of the exact vectors find, but for
// vectors whose products differ by less than rounding to binary16 may change.
TEST(SearchIndex, IsExactOnEveryKernelSet) {
  for (const KernelSet* kernels : available_kernels()) {
    Search search({.max_tokens = 8}, kernels->name);
    std::string text;
    for (int i = 0; i < 150; ++i) text += "Tom had " + std::to_string(i) + " red balls.\n\n";
    ASSERT_TRUE(search.index.put("a", text, "").ok());
    const auto pending = search.index.pending("a", 1000);
    ASSERT_GE(pending.size(), 130u);
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    const auto make = [&] {
      Vector vector(search.index.n_numbers());
      for (float& x : vector) x = normal(random);
      normalize_length(vector);
      return vector;
    };
    std::vector<Vector> vectors;
    for (const PendingPassage& passage : pending) {
      search.index.set_vector(passage, vectors.emplace_back(make()));
    }
    const Vector query = make();
    const auto hits = search.search({.vector = query, .limit = pending.size()});
    ASSERT_EQ(hits.size(), pending.size());
    for (size_t i = 0; i < hits.size(); ++i) {
      double product = 0;
      for (size_t j = 0; j < query.size(); ++j) {
        product += double{query[j]} * double{vectors[hits[i].passage][j]};
      }
      ASSERT_NEAR(hits[i].score, product, 2e-4) << kernels->name;
      if (i > 0) {
        ASSERT_LE(hits[i].score, hits[i - 1].score);
      }
    }
  }
}

TEST(SearchIndex, NamesWhatIsWrong) {
  const LanguageModel loaded = load_stories();
  const auto error_of = [&](const SearchOptions& options) {
    auto index = SearchIndex::create(loaded, options);
    EXPECT_FALSE(index.ok());
    return index.ok() ? "" : index.error().message;
  };
  EXPECT_NE(error_of({.n_numbers = 100000}).find("dimensions, not 100000"), std::string::npos);
  EXPECT_NE(error_of({.max_tokens = 3}).find("passages of 3 tokens"), std::string::npos);
  EXPECT_NE(error_of({.pooling = Pooling::none}).find("none"), std::string::npos);
  EXPECT_NE(error_of({.pooling = Pooling::rank}).find("reranker"), std::string::npos);

  Search search;
  EXPECT_EQ(search.index.put("a", "\xff", "").error().message, "the text is not UTF-8 at byte 0");
  EXPECT_EQ(search.index.search({.vector = {}}).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace kinglet
