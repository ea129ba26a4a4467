#include <cmath>
#include <cstdio>
#include <span>
#include <string>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/run.h"
#include "cli/windows.h"
#include "session/logprobs.h"

namespace kinglet::cli {
namespace {

// Returns -ln of the probability of the token.
double surprise(std::span<const float> logits, TokenId token) {
  return log_sum_exp(logits) - static_cast<double>(logits[static_cast<size_t>(token)]);
}

// Returns the sum of the surprises in the second half of a window. The first half is only context.
Result<double> window_surprise(Session& session, std::span<const TokenId> window) {
  const size_t first = window.size() / 2;
  double sum = 0;
  KINGLET_TRY(session.truncate(0));
  KINGLET_TRY(session.append(window.first(first + 1)));
  for (size_t i = first + 1; i < window.size(); ++i) {
    sum += surprise(session.logits(), window[i]);
    if (i + 1 < window.size()) KINGLET_TRY(session.append(window.subspan(i, 1)));
  }
  return sum;
}

}  // namespace

Status perplexity(const PerplexityOptions& options) {
  KINGLET_ASSIGN(const std::string text, read_text_file(options.file));
  KINGLET_ASSIGN(const auto run, start_run(options.run));
  const size_t n_ctx = run->session->n_ctx();
  KINGLET_ASSIGN(const TextWindows windows,
                 TextWindows::cut(*run->loaded.tokenizer, text, n_ctx, 4));
  const size_t n_windows = windows.count();
  double sum = 0;
  for (size_t i = 0; i < n_windows; ++i) {
    KINGLET_ASSIGN(const double window_sum, window_surprise(*run->session, windows[i]));
    sum += window_sum;
  }
  const size_t n_counted = n_windows * (n_ctx - n_ctx / 2 - 1);
  std::printf("{\"perplexity\":%.5f,\"windows\":%zu,\"window_tokens\":%zu,\"counted\":%zu}\n",
              std::exp(sum / static_cast<double>(n_counted)), n_windows, n_ctx, n_counted);
  return {};
}

}  // namespace kinglet::cli
