#include "session/logprobs.h"

#include <algorithm>
#include <cstdio>
#include <span>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/run.h"

namespace kinglet::cli {
namespace {

TokenId argmax(std::span<const float> logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

template <class Number>
void print_integers(const char* name, std::span<const Number> numbers) {
  std::printf("\"%s\":[", name);
  for (size_t i = 0; i < numbers.size(); ++i) {
    std::printf("%s%lld", i == 0 ? "" : ",", static_cast<long long>(numbers[i]));
  }
  std::printf("]");
}

void print_position(uint32_t position, std::span<const float> logits) {
  const double log_sum = log_sum_exp(logits);
  std::printf("{\"position\":%u,\"argmax\":%d,\"logprobs\":[", position, argmax(logits));
  for (size_t i = 0; i < logits.size(); ++i) {
    std::printf("%s%.6g", i == 0 ? "" : ",", static_cast<double>(logits[i]) - log_sum);
  }
  std::printf("]}");
}

Result<std::vector<uint32_t>> sorted_positions(const LogprobsOptions& options) {
  if (options.tokens.empty()) {
    return Error{ErrorCode::invalid_argument, "--tokens is empty, expected at least one id"};
  }
  std::vector<uint32_t> positions = options.positions;
  const auto last = static_cast<uint32_t>(options.tokens.size() - 1);
  if (positions.empty()) positions.push_back(last);
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  if (positions.back() > last) {
    return Error{ErrorCode::invalid_argument, cat("--positions: ", positions.back(),
                                                  " is out of range: the last token's is ", last)};
  }
  return positions;
}

Result<std::vector<TokenId>> continue_greedily(Session& session, uint32_t n) {
  std::vector<TokenId> ids;
  while (ids.size() < n) {
    ids.push_back(argmax(session.logits()));
    if (ids.size() < n) KINGLET_TRY(session.append({&ids.back(), 1}));
  }
  return ids;
}

}  // namespace

Status logprobs(const LogprobsOptions& options) {
  KINGLET_ASSIGN(const std::vector<uint32_t> positions, sorted_positions(options));
  KINGLET_ASSIGN(const auto run, start_run(options.run));
  Session& session = *run->session;
  const std::span<const TokenId> tokens(options.tokens);
  // Append all tokens once, so that an error comes before any output.
  KINGLET_TRY(session.append(tokens));
  KINGLET_TRY(session.truncate(0));

  std::printf("{");
  print_integers("tokens", tokens);
  std::printf(",\"positions\":[");
  for (const uint32_t position : positions) {
    KINGLET_TRY(session.append(
        tokens.subspan(session.n_positions(), position + 1 - session.n_positions())));
    if (position != positions.front()) std::printf(",");
    print_position(position, session.logits());
  }
  std::printf("]");
  if (options.n_greedy > 0) {
    if (session.n_positions() < tokens.size()) {
      KINGLET_TRY(session.append(tokens.subspan(session.n_positions())));
    }
    KINGLET_ASSIGN(const auto ids, continue_greedily(session, options.n_greedy));
    std::printf(",");
    print_integers("greedy", std::span<const TokenId>(ids));
  }
  std::printf("}\n");
  return {};
}

}  // namespace kinglet::cli
