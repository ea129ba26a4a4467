// Measures a search among made vectors: the time of the processor that it takes on one thread, and
// how many of the ten best passages are those that float32 finds (recall@10). Vectors are near each
// other, as those of real texts are. Prints one JSON object. Usage: kinglet_search_speed MODEL
// N_PASSAGES [FOLDER]. With a folder, writes the documents there, for an index in Node or in a
// page, and the vectors of passages and queries in float32.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "program.h"
#include "search/index.h"
#include "session/language_model.h"

namespace kinglet {
namespace {

constexpr size_t kPerDocument = 100;
constexpr size_t kQueries = 50;
constexpr size_t kBest = 10;

using Vector = std::vector<float>;

Vector random_vector(std::mt19937& random, size_t n, const Vector& centre) {
  std::normal_distribution<float> normal;
  Vector vector(n);
  for (size_t i = 0; i < n; ++i) vector[i] = normal(random) + centre[i];
  normalize_length(vector);
  return vector;
}

// Returns the indexes of the best vectors in float32.
std::vector<size_t> exact_best(const std::vector<Vector>& vectors, const Vector& query) {
  std::vector<std::pair<double, size_t>> scores;
  for (size_t i = 0; i < vectors.size(); ++i) {
    double product = 0;
    for (size_t j = 0; j < query.size(); ++j) product += double{query[j]} * double{vectors[i][j]};
    scores.emplace_back(-product, i);
  }
  std::partial_sort(scores.begin(), scores.begin() + kBest, scores.end());
  std::vector<size_t> best;
  for (size_t i = 0; i < kBest; ++i) best.push_back(scores[i].second);
  return best;
}

void write_vectors(const std::string& path, const std::vector<Vector>& vectors) {
  std::ofstream out(path, std::ios::binary);
  for (const Vector& vector : vectors) {
    out.write(reinterpret_cast<const char*>(vector.data()),
              static_cast<std::streamsize>(vector.size() * sizeof vector[0]));
  }
}

Status run(const std::string& path, size_t n_passages, const std::string& folder) {
  KINGLET_ASSIGN(GgufFile file, read_gguf_file(path));
  KINGLET_ASSIGN(const LanguageModel loaded, load_language_model(std::move(file)));
  KINGLET_ASSIGN(SearchIndex index, SearchIndex::create(loaded, {.max_tokens = 16}));
  const size_t n = index.n_numbers();
  std::mt19937 random(1);
  const Vector centre = random_vector(random, n, Vector(n));
  Vector far = centre;
  for (float& x : far) x *= 0.7f * std::sqrt(static_cast<float>(n));

  std::vector<Vector> vectors;
  std::vector<std::string> ids;
  for (size_t begin = 0; begin < n_passages; begin += kPerDocument) {
    std::string text;
    for (size_t i = begin; i < begin + kPerDocument; ++i) {
      text += "Here is the passage with number " + std::to_string(i) + ".\n\n";
    }
    const std::string id = "document " + std::to_string(1000000 + begin);
    KINGLET_TRY(index.put(id, text, "{}"));
    for (const PendingPassage& pending : index.pending(id, SIZE_MAX)) {
      vectors.push_back(random_vector(random, n, far));
      index.set_vector(pending, vectors.back());
      ids.push_back(id + " " + std::to_string(pending.passage));
    }
    if (folder.empty()) continue;
    KINGLET_ASSIGN(const AlignedBuffer record, index.record(id));
    std::ofstream out(folder + "/" + index.find(id)->key() + ".kpassages", std::ios::binary);
    out.write(reinterpret_cast<const char*>(record.data()),
              static_cast<std::streamsize>(record.size()));
  }

  std::vector<Vector> queries;
  for (size_t i = 0; i < kQueries; ++i) queries.push_back(random_vector(random, n, far));
  if (!folder.empty()) {
    write_vectors(folder + "/vectors.f32", vectors);
    write_vectors(folder + "/queries.f32", queries);
  }
  std::vector<double> milliseconds;
  size_t n_found = 0;
  for (const Vector& query : queries) {
    const std::clock_t begin = std::clock();
    KINGLET_ASSIGN(const auto hits, index.search({.vector = query, .limit = kBest}));
    milliseconds.push_back(1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    const auto best = exact_best(vectors, query);
    for (const SearchHit& hit : hits) {
      const std::string id = hit.document->id + " " + std::to_string(hit.passage);
      n_found += std::count_if(best.begin(), best.end(), [&](size_t j) { return ids[j] == id; });
    }
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  std::printf(
      "{\"passages\":%zu,\"numbers\":%zu,\"kernels\":\"%s\",\"milliseconds\":%.2f,"
      "\"recallAt10\":%.4f",
      vectors.size(), n, std::string(loaded.model.kernels().name).c_str(),
      milliseconds[kQueries / 2],
      static_cast<double>(n_found) / static_cast<double>(kQueries * kBest));
  print_peak_and_end();
  return {};
}

}  // namespace
}  // namespace kinglet

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "Usage: kinglet_search_speed MODEL N_PASSAGES [FOLDER]\n");
    return 2;
  }
  const auto status = kinglet::run(argv[1], std::stoul(argv[2]), argc > 3 ? argv[3] : "");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status.ok() ? 0 : 1;
}
