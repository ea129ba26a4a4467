#include <cstdio>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/run.h"
#include "session/encoder_input.h"

namespace kinglet::cli {
namespace {

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

TooLong too_long(const EncoderOptions& options) {
  return options.cuts ? TooLong::cut : TooLong::fail;
}

// Computes the group and calls print(index) for each of its texts.
template <class Print>
Status compute_group(TextGroup& group, const Print& print) {
  if (group.n_texts() == 0) return {};
  KINGLET_TRY(group.begin());
  while (group.encoder().n_left() > 0) KINGLET_TRY(group.encoder().advance());
  for (size_t i = 0; i < group.n_texts(); ++i) KINGLET_TRY(print(i));
  std::fflush(stdout);
  group.clear();
  return {};
}

// Calls print() for the text `tokens`, or, if that is empty, for each line of standard input.
// tokens_of(line) returns the tokens of a line.
template <class TokensOf, class Print>
Status for_each_text(TextGroup& group, const std::vector<TokenId>& tokens,
                     const TokensOf& tokens_of, const Print& print) {
  if (!tokens.empty()) {
    group.add(tokens);
    return compute_group(group, print);
  }
  std::string line;
  for (size_t number = 1; std::getline(std::cin, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    const std::string name = cat("line ", number);
    KINGLET_TRY(check_utf8(cat("text of ", name), line));
    auto of_line = tokens_of(line);
    if (!of_line.ok()) {
      return Error{of_line.error().code, cat(name, ": ", of_line.error().message)};
    }
    group.add(std::move(of_line.value()));
    if (group.is_full()) KINGLET_TRY(compute_group(group, print));
  }
  return compute_group(group, print);
}

Status check_dimensions(const EmbedOptions& options, size_t n) {
  if (options.dimensions <= n) return {};
  return Error{ErrorCode::invalid_argument, cat("--dimensions: the model's vectors have ", n,
                                                " numbers, not ", options.dimensions)};
}

Status print_embedding(Encoder& encoder, size_t text, Pooling pooling,
                       const EmbedOptions& options) {
  std::vector<float> numbers(encoder.embedding_size(text, pooling));
  KINGLET_TRY(encoder.embed(text, pooling, numbers));
  const size_t width = encoder.embedding_dim();
  KINGLET_TRY(check_dimensions(options, width));
  const size_t n_kept = options.dimensions == 0 ? width : options.dimensions;
  std::vector<float> kept;
  for (size_t i = 0; i < numbers.size(); i += width) {
    const auto row = std::span(numbers).subspan(i, n_kept);
    if (options.normalizes) normalize_length(row);
    kept.insert(kept.end(), row.begin(), row.end());
  }
  std::printf("{\"pooling\":\"%s\",", std::string(pooling_name(pooling)).c_str());
  if (pooling == Pooling::none) {
    std::printf("\"token_embeddings\":");
    print_rows(kept, n_kept);
  } else {
    std::printf("\"embedding\":");
    print_numbers(kept);
  }
  std::printf("}\n");
  return {};
}

}  // namespace

Status embed(const EmbedOptions& options) {
  KINGLET_ASSIGN(const auto run, start_encoder(options.encoder));
  Pooling pooling = Pooling::none;
  if (options.pooling.empty()) {
    const auto of_file = file_pooling(run->loaded.model.config());
    if (!of_file.ok()) {
      return Error{of_file.error().code,
                   cat(of_file.error().message, "; choose with --pooling: mean, cls or last")};
    }
    pooling = of_file.value();
  } else {
    KINGLET_ASSIGN(pooling, find_pooling(options.pooling));
  }
  return for_each_text(
      run->group, options.encoder.tokens,
      [&](const std::string& line) {
        return embedding_tokens(run->loaded, options.prompt + line, too_long(options.encoder));
      },
      [&](size_t text) { return print_embedding(run->group.encoder(), text, pooling, options); });
}

Status rerank(const RerankOptions& options) {
  if (options.encoder.tokens.empty() == options.query.empty()) {
    return Error{ErrorCode::invalid_argument, "rerank: give either --query or --tokens"};
  }
  KINGLET_ASSIGN(const auto run, start_encoder(options.encoder));
  KINGLET_TRY(check_ranks(run->loaded.model.config()));
  KINGLET_TRY(check_utf8("query", options.query));
  std::vector<float> scores(run->loaded.model.config().n_labels);
  return for_each_text(
      run->group, options.encoder.tokens,
      [&](const std::string& line) {
        return ranking_tokens(run->loaded, options.query, line, too_long(options.encoder));
      },
      [&](size_t text) -> Status {
        KINGLET_TRY(run->group.encoder().score(text, scores));
        std::printf("{\"score\":%.9g,\"scores\":", static_cast<double>(scores.front()));
        print_numbers(scores);
        std::printf("}\n");
        return {};
      });
}

}  // namespace kinglet::cli
