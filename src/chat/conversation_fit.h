// Leaves messages out of a conversation that is longer than the context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace kinglet {

// What decides which messages are left out together.
struct MessagePlace {
  std::string role;
  // For the result of a tool: the index of the message that called the tool.
  std::optional<size_t> call = {};
};

// The run of a message that stays.
constexpr size_t kStays = SIZE_MAX;

// Returns for each message the number of its run, or kStays. The messages of a run are left out
// together; run 0 is the oldest. A run is an exchange, from a user's message to the next one. In
// the last exchange, a run is a message of the assistant with what follows, except for the last
// one. The result of a call belongs to the run of the call, wherever it stands. System messages at
// the beginning stay.
std::vector<size_t> removable_runs(const std::vector<MessagePlace>& messages);

// Returns the number of system messages at the beginning.
size_t count_system(const std::vector<MessagePlace>& messages);

// Returns the number of tokens of the prompt of these messages, given by their indices. nullopt
// ends the search.
using CountTokens = std::function<std::optional<size_t>(const std::vector<size_t>& kept)>;

// Returns the messages to keep so that the prompt has at most n_most tokens, if that can be reached
// by leaving runs out. They are left out by steps of half of n_most, so that as a conversation
// grows, several prompts begin alike and only their new tokens are computed. Returns nullopt if
// `count` did.
std::optional<std::vector<size_t>> fit_messages(const std::vector<MessagePlace>& messages,
                                                size_t n_most, const CountTokens& count);

// The most tokens of a prompt in a context of n_ctx: there is room for an answer of max_tokens, but
// for at most half of the context.
size_t room_for_prompt(uint32_t n_ctx, uint32_t max_tokens);

// How many first tokens a context keeps that drops its older half: those of the system messages,
// but at least those that models attend to whatever they are (StreamingLLM, Xiao et al., 2023).
uint32_t count_kept(uint32_t n_opening, uint32_t n_ctx);

}  // namespace kinglet
