// Measures how fast texts are embedded natively, as in the desktop program: passages of 256 tokens,
// all in one call, and queries of 16 tokens, each in a separate call. Prints texts per second of
// every repeat, one JSON object for each kernel set and number of threads.
// Usage: kinglet_embed_speed MODEL [KERNELS [THREADS [REPEATS]]]; see kinglet_speed.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/file.h"
#include "model/encode.h"
#include "program.h"

namespace kinglet {
namespace {

using Text = std::vector<int32_t>;

// The same numbers as in embed-texts.js.
constexpr size_t kPassages = 16;
constexpr size_t kPassageTokens = 256;
constexpr size_t kQueries = 32;
constexpr size_t kQueryTokens = 16;

// Texts with arbitrary ids: the time does not depend on the ids.
std::vector<Text> texts_of(size_t n_texts, size_t n_tokens) {
  std::vector<Text> texts(n_texts, Text(n_tokens));
  for (size_t i = 0; i < n_texts; ++i) {
    for (size_t t = 0; t < n_tokens; ++t) {
      texts[i][t] = static_cast<int32_t>(200 + (7 * t + 131 * i) % 1000);
    }
  }
  return texts;
}

Status embed(Encoder& encoder, std::span<const Text> texts, Pooling pooling) {
  const std::vector<std::span<const int32_t>> spans(texts.begin(), texts.end());
  KINGLET_TRY(encoder.run(spans));
  std::vector<float> embedding(encoder.embedding_dim());
  for (size_t i = 0; i < texts.size(); ++i) KINGLET_TRY(encoder.embed(i, pooling, embedding));
  return {};
}

// The texts per second, with n_together texts per call.
Result<double> rate(Encoder& encoder, const std::vector<Text>& texts, size_t n_together,
                    Pooling pooling) {
  const double start = seconds_now();
  for (size_t i = 0; i < texts.size(); i += n_together) {
    KINGLET_TRY(embed(encoder, std::span(texts).subspan(i, n_together), pooling));
  }
  return static_cast<double>(texts.size()) / (seconds_now() - start);
}

Status measure(const Model& model, Pooling pooling, size_t n_threads, int n_repeats) {
  ThreadPool pool(n_threads);
  const std::vector<Text> passages = texts_of(kPassages, kPassageTokens);
  const std::vector<Text> queries = texts_of(kQueries, kQueryTokens);
  KINGLET_ASSIGN(Encoder encoder, Encoder::create(model, pool, kPassages * kPassageTokens));
  std::vector<double> of_passages;
  std::vector<double> of_queries;
  KINGLET_TRY(embed(encoder, queries, pooling));
  for (int i = 0; i < n_repeats; ++i) {
    KINGLET_ASSIGN(const double passage_rate, rate(encoder, passages, kPassages, pooling));
    KINGLET_ASSIGN(const double query_rate, rate(encoder, queries, 1, pooling));
    of_passages.push_back(passage_rate);
    of_queries.push_back(query_rate);
  }
  std::printf("{\"kernels\":\"%s\",\"threads\":%zu", std::string(model.kernels().name).c_str(),
              pool.n_threads());
  print_numbers("passages", of_passages);
  print_numbers("queries", of_queries);
  print_peak_and_end();
  return {};
}

Status run(const std::string& path, std::string_view kernels, size_t n_threads, int n_repeats) {
  return for_each_kernel_set(kernels, [&](const KernelSet& set) -> Status {
    KINGLET_ASSIGN(GgufFile file, read_gguf_file(path));
    KINGLET_ASSIGN(const Model model, Model::load(std::move(file), set));
    KINGLET_ASSIGN(const Pooling pooling, file_pooling(model.config()));
    return for_each_thread_count(
        n_threads, [&](size_t threads) { return measure(model, pooling, threads, n_repeats); });
  });
}

}  // namespace
}  // namespace kinglet

int main(int argc, char** argv) {
  return kinglet::run_program("kinglet_embed_speed", argc, argv, kinglet::run);
}
