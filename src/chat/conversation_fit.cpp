#include "chat/conversation_fit.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/ascii.h"

namespace kinglet {
namespace {

constexpr std::pair<std::string_view, OnFull> kNames[] = {
    {"error", OnFull::error}, {"dropOldest", OnFull::drop_oldest}, {"shift", OnFull::shift}};

// The attention sinks.
constexpr uint32_t kSinks = 4;

// Appends the runs from each start to the next one.
void add_runs(const std::vector<size_t>& starts, std::vector<MessageRun>& runs) {
  for (size_t i = 1; i < starts.size(); ++i) runs.push_back({starts[i - 1], starts[i]});
}

// Returns the messages without the first n_runs runs.
std::vector<size_t> without(size_t n_messages, const std::vector<MessageRun>& runs, size_t n_runs) {
  std::vector<size_t> kept(n_messages);
  std::iota(kept.begin(), kept.end(), size_t{0});
  std::erase_if(kept, [&](size_t i) {
    return std::any_of(runs.begin(), runs.begin() + static_cast<ptrdiff_t>(n_runs),
                       [&](const MessageRun& run) { return i >= run.first && i < run.end; });
  });
  return kept;
}

}  // namespace

std::optional<OnFull> find_on_full(std::string_view name) {
  for (const auto& [known, value] : kNames) {
    if (known == name) return value;
  }
  return std::nullopt;
}

size_t count_system(const std::vector<std::string>& roles) {
  const auto end = std::find_if(roles.begin(), roles.end(), [](const std::string& role) {
    return role != "system" && role != "developer";
  });
  return static_cast<size_t>(end - roles.begin());
}

std::vector<MessageRun> removable_runs(const std::vector<std::string>& roles) {
  const size_t first = count_system(roles);
  std::vector<size_t> exchanges;
  for (size_t i = first; i < roles.size(); ++i) {
    const bool is_question = roles[i] == "user" && (i == 0 || roles[i - 1] != "user");
    if (i == first || is_question) exchanges.push_back(i);
  }
  std::vector<size_t> rounds;
  const size_t last = exchanges.empty() ? roles.size() : exchanges.back();
  for (size_t i = last; i < roles.size(); ++i) {
    if (roles[i] == "assistant") rounds.push_back(i);
  }
  std::vector<MessageRun> runs;
  add_runs(exchanges, runs);
  add_runs(rounds, runs);
  return runs;
}

std::optional<std::vector<size_t>> fit_messages(const std::vector<std::string>& roles,
                                                size_t n_most, const CountTokens& count) {
  const std::vector<MessageRun> runs = removable_runs(roles);
  std::vector<size_t> whole = without(roles.size(), runs, 0);
  const auto n_whole = count(whole);
  if (!n_whole) return std::nullopt;
  if (*n_whole <= n_most || runs.empty()) return whole;
  // Which runs are left out depends only on their own tokens and on the number of steps. So it
  // stays the same until the conversation has grown by a step.
  const size_t step = std::max<size_t>(n_most / 2, 1);
  const size_t n_steps = (*n_whole - n_most + step - 1) / step;
  const size_t n_wanted = *n_whole - std::min(*n_whole, n_steps * step);
  size_t least = 1;
  size_t most = runs.size();
  while (least < most) {
    const size_t middle = (least + most) / 2;
    const auto n = count(without(roles.size(), runs, middle));
    if (!n) return std::nullopt;
    if (*n <= n_wanted) {
      most = middle;
    } else {
      least = middle + 1;
    }
  }
  return without(roles.size(), runs, least);
}

size_t room_for_prompt(uint32_t n_ctx, uint32_t max_tokens) {
  return n_ctx - std::min(max_tokens, n_ctx / 2);
}

uint32_t count_kept(const std::vector<TokenId>& opening, const std::vector<TokenId>& prompt,
                    uint32_t n_ctx) {
  const size_t n = std::min(opening.size(), prompt.size());
  const auto end =
      std::mismatch(opening.begin(), opening.begin() + static_cast<ptrdiff_t>(n), prompt.begin());
  const auto n_same = static_cast<uint32_t>(end.first - opening.begin());
  return std::min(std::max(kSinks, n_same), n_ctx - 1);
}

}  // namespace kinglet
