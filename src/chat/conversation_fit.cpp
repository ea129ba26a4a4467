#include "chat/conversation_fit.h"

#include <algorithm>

#include "base/ascii.h"

namespace kinglet {
namespace {

// The attention sinks.
constexpr uint32_t kSinks = 4;

// Returns the messages without the first n_runs runs.
std::vector<size_t> without(const std::vector<size_t>& runs, size_t n_runs) {
  std::vector<size_t> kept;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i] >= n_runs) kept.push_back(i);
  }
  return kept;
}

}  // namespace

size_t count_system(const std::vector<MessagePlace>& messages) {
  const auto end = std::find_if(messages.begin(), messages.end(), [](const MessagePlace& message) {
    return message.role != "system" && message.role != "developer";
  });
  return static_cast<size_t>(end - messages.begin());
}

std::vector<size_t> removable_runs(const std::vector<MessagePlace>& messages) {
  const size_t first = count_system(messages);
  std::vector<size_t> starts;  // of exchanges; then, in the last one, of rounds
  for (size_t i = first; i < messages.size(); ++i) {
    const bool is_question =
        messages[i].role == "user" && (i == 0 || messages[i - 1].role != "user");
    if (i == first || is_question) starts.push_back(i);
  }
  const size_t last_exchange = starts.empty() ? messages.size() : starts.back();
  const size_t n_exchanges = starts.empty() ? 0 : starts.size() - 1;
  if (!starts.empty()) starts.pop_back();
  for (size_t i = last_exchange; i < messages.size(); ++i) {
    if (messages[i].role == "assistant") starts.push_back(i);
  }
  const bool has_rounds = starts.size() > n_exchanges;
  const size_t n_runs = has_rounds ? starts.size() - 1 : n_exchanges;
  std::vector<size_t> runs(messages.size(), kStays);
  for (size_t run = 0; run < n_runs; ++run) {
    const bool is_last_exchange = run + 1 == n_exchanges;
    const size_t end = is_last_exchange ? last_exchange : starts[run + 1];
    std::fill(runs.begin() + static_cast<ptrdiff_t>(starts[run]),
              runs.begin() + static_cast<ptrdiff_t>(end), run);
  }
  for (size_t i = first; i < messages.size(); ++i) {
    if (messages[i].call) runs[i] = runs[*messages[i].call];
  }
  return runs;
}

std::optional<std::vector<size_t>> fit_messages(const std::vector<MessagePlace>& messages,
                                                size_t n_most, const CountTokens& count) {
  const std::vector<size_t> runs = removable_runs(messages);
  size_t n_runs = 0;
  for (const size_t run : runs) n_runs = run == kStays ? n_runs : std::max(n_runs, run + 1);
  std::vector<size_t> whole = without(runs, 0);
  const auto n_whole = count(whole);
  if (!n_whole) return std::nullopt;
  if (*n_whole <= n_most || n_runs == 0) return whole;
  // Which runs are left out depends only on their own tokens and on the number of steps. So it
  // stays the same until the conversation has grown by a step.
  const size_t step = std::max<size_t>(n_most / 2, 1);
  const size_t n_steps = (*n_whole - n_most + step - 1) / step;
  const size_t n_wanted = *n_whole - std::min(*n_whole, n_steps * step);
  size_t least = 1;
  size_t most = n_runs;
  while (least < most) {
    const size_t middle = (least + most) / 2;
    const auto n = count(without(runs, middle));
    if (!n) return std::nullopt;
    if (*n <= n_wanted) {
      most = middle;
    } else {
      least = middle + 1;
    }
  }
  return without(runs, least);
}

size_t room_for_prompt(uint32_t n_ctx, uint32_t max_tokens) {
  return n_ctx - std::min(max_tokens, n_ctx / 2);
}

uint32_t count_kept(uint32_t n_opening, uint32_t n_ctx) {
  return std::min(std::max(kSinks, n_opening), n_ctx - 1);
}

}  // namespace kinglet
