#include <array>
#include <cstdio>
#include <span>

#include "base/format.h"
#include "base/quoted.h"
#include "cli/commands.h"
#include "cli/run.h"

namespace kinglet::cli {
namespace {

// By Pooling.
constexpr std::array<std::string_view, 5> kPoolings = {"none", "mean", "cls", "last", "rank"};

Result<Pooling> find_pooling(std::string_view name) {
  for (size_t i = 0; i < kPoolings.size(); ++i) {
    if (kPoolings[i] == name) return static_cast<Pooling>(i);
  }
  return Error{ErrorCode::invalid_argument,
               cat("--pooling: ", quoted(name), " is unknown (known: none, mean, cls, last)")};
}

void print_numbers(std::span<const float> numbers) {
  std::printf("[");
  for (size_t i = 0; i < numbers.size(); ++i) {
    std::printf("%s%.9g", i == 0 ? "" : ",", static_cast<double>(numbers[i]));
  }
  std::printf("]");
}

void print_rows(std::span<const float> numbers, size_t width) {
  std::printf("[");
  for (size_t i = 0; i < numbers.size(); i += width) {
    if (i > 0) std::printf(",");
    print_numbers(numbers.subspan(i, width));
  }
  std::printf("]");
}

}  // namespace

Status embed(const EncoderOptions& options) {
  Pooling pooling = Pooling::none;
  if (!options.pooling.empty()) {
    KINGLET_ASSIGN(pooling, find_pooling(options.pooling));
  }
  KINGLET_ASSIGN(const auto run, encode_text(options));
  Encoder& encoder = *run->encoder;
  if (options.pooling.empty()) {
    KINGLET_ASSIGN(pooling, encoder.pooling());
  }
  std::vector<float> embedding(encoder.embedding_size(0, pooling));
  KINGLET_TRY(encoder.embed(0, pooling, embedding));
  std::printf("{\"pooling\":\"%s\",", std::string(kPoolings[static_cast<size_t>(pooling)]).c_str());
  if (pooling == Pooling::none) {
    std::printf("\"token_embeddings\":");
    print_rows(embedding, embedding.size() / options.tokens.size());
  } else {
    std::printf("\"embedding\":");
    print_numbers(embedding);
  }
  std::printf("}\n");
  return {};
}

Status rerank(const EncoderOptions& options) {
  KINGLET_ASSIGN(const auto run, encode_text(options));
  std::vector<float> scores(run->model.config().n_labels);
  KINGLET_TRY(run->encoder->score(0, scores));
  std::printf("{\"score\":%.9g,\"scores\":", static_cast<double>(scores.front()));
  print_numbers(scores);
  std::printf("}\n");
  return {};
}

}  // namespace kinglet::cli
