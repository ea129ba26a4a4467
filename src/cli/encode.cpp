#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "answers/classifier.h"
#include "answers/encoding_run.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/run.h"
#include "json/json.h"
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

// Computes the texts and calls print() with the row of each.
template <class Print>
Status print_rows_of(EncodingRun& run, const Encoding& encoding, const Print& print) {
  Status status;
  const auto deliver = [&](const Result<Rows>& rows) {
    if (!rows.ok()) status = rows.error();
    if (rows.ok()) std::for_each(rows.value().begin(), rows.value().end(), print);
  };
  run.run({.encoding = encoding, .deliver = deliver});
  std::fflush(stdout);
  return status;
}

// Calls print() with the row of the text `options.tokens` or, if that is empty, of each line of
// standard input, as soon as the lines fill a group. tokens_of(line) returns the tokens of a line.
template <class TokensOf, class Print>
Status encode(EncoderRun& run, const EncoderOptions& options, Encoding wanted,
              const TokensOf& tokens_of, const Print& print, size_t group_tokens = kGroupTokens) {
  if (!options.tokens.empty()) {
    wanted.texts = {options.tokens};
    return print_rows_of(run.encoding, wanted, print);
  }
  size_t n_tokens = 0;  // of wanted.texts
  for (size_t number = 1; const auto line = read_input_line(); ++number) {
    const std::string name = cat("line ", number);
    KINGLET_TRY(check_utf8(cat("text of ", name), *line));
    auto of_line = tokens_of(*line);
    if (!of_line.ok()) {
      return Error{of_line.error().code, cat(name, ": ", of_line.error().message)};
    }
    n_tokens += of_line.value().size();
    wanted.texts.push_back(std::move(of_line.value()));
    if (n_tokens < group_tokens) continue;
    KINGLET_TRY(print_rows_of(run.encoding, wanted, print));
    wanted.texts.clear();
    n_tokens = 0;
  }
  return print_rows_of(run.encoding, wanted, print);
}

// Reads examples, LABEL=TEXT.
Result<std::vector<LabelledText>> read_examples(const std::vector<std::string>& given) {
  std::vector<LabelledText> examples;
  for (const std::string& example : given) {
    const size_t end = example.find('=');
    if (end == example.npos) {
      return Error{ErrorCode::invalid_argument,
                   cat("--example: found ", in_quotes(example), ", expected LABEL=TEXT")};
    }
    examples.push_back({example.substr(end + 1), example.substr(0, end)});
  }
  return examples;
}

// The prompts' common beginning is computed once for each group of this many tokens.
constexpr size_t kPromptTokens = 32 * kGroupTokens;

Result<Pooling> choose_pooling(const EmbedOptions& options, const ModelConfig& config) {
  if (!options.pooling.empty()) return find_pooling(options.pooling);
  auto of_file = file_pooling(config);
  if (!of_file.ok()) of_file.error().message += "; choose with --pooling: mean, cls or last";
  return of_file;
}

}  // namespace

Status embed(const EmbedOptions& options) {
  KINGLET_ASSIGN(const auto run, start_encoder(options.encoder));
  const Model& model = run->loaded.model;
  KINGLET_ASSIGN(const Pooling pooling, choose_pooling(options, model.config()));
  KINGLET_TRY(check_makes_vectors(pooling));
  const size_t n_all = model.weights().head.embedding_dim();
  if (options.dimensions > n_all) {
    return Error{ErrorCode::invalid_argument, cat("--dimensions: the model's vectors have ", n_all,
                                                  " numbers, not ", options.dimensions)};
  }
  const size_t width = options.dimensions == 0 ? n_all : options.dimensions;
  return encode(
      *run, options.encoder,
      {.pooling = pooling, .n_numbers = options.dimensions, .normalizes = options.normalizes},
      [&](const std::string& line) {
        return embedding_tokens(run->loaded, options.prompt + line, too_long(options.encoder));
      },
      [&](std::span<const float> numbers) {
        std::printf("{\"pooling\":\"%s\",", std::string(pooling_name(pooling)).c_str());
        if (pooling == Pooling::none) {
          std::printf("\"token_embeddings\":");
          print_rows(numbers, width);
        } else {
          std::printf("\"embedding\":");
          print_numbers(numbers);
        }
        std::printf("}\n");
      });
}

Status rerank(const RerankOptions& options) {
  if (options.encoder.tokens.empty() == options.query.empty()) {
    return Error{ErrorCode::invalid_argument, "rerank: give either --query or --tokens"};
  }
  KINGLET_ASSIGN(const auto run, start_encoder(options.encoder));
  KINGLET_TRY(check_ranks(run->loaded.model.config()));
  return encode(
      *run, options.encoder, {.pooling = Pooling::rank},
      [&](const std::string& line) {
        return ranking_tokens(run->loaded, options.query, line, too_long(options.encoder));
      },
      [](std::span<const float> scores) {
        std::printf("{\"score\":%.9g,\"scores\":", static_cast<double>(scores.front()));
        print_numbers(scores);
        std::printf("}\n");
      });
}

Status classify(const ClassifyOptions& options) {
  Classification wanted{.labels = options.labels,
                        .instruction = options.instruction,
                        .examples = {},
                        .per_token = options.per_token};
  KINGLET_ASSIGN(wanted.examples, read_examples(options.examples));
  std::string source;
  if (!options.chat_template.empty()) {
    KINGLET_ASSIGN(source, read_filled_file(options.chat_template));
  }
  KINGLET_ASSIGN(const auto run, start_encoder(options.encoder));
  const ChatLayout layout(run->loaded.model.header(), run->loaded.tokenizer->vocabulary(), source);
  KINGLET_ASSIGN(const Classifier classifier,
                 Classifier::create(run->loaded, layout, std::move(wanted)));
  const auto& labels = classifier.labels();
  return encode(
      *run, options.encoder, classifier.encoding(),
      [&](const std::string& line) { return classifier.tokens(line); },
      [&](std::span<const float> numbers) {
        Json probabilities = Json::object();
        for (size_t i = 0; i < labels.size(); ++i) probabilities[labels[i]] = numbers[i];
        const auto best = std::max_element(numbers.begin(), numbers.end()) - numbers.begin();
        const Json line = {{"label", labels[static_cast<size_t>(best)]},
                           {"probabilities", std::move(probabilities)}};
        std::printf("%s\n", print(line).c_str());
      },
      kPromptTokens);
}

}  // namespace kinglet::cli
