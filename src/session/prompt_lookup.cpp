#include "session/prompt_lookup.h"

#include <algorithm>
#include <bit>

namespace kinglet {
namespace {

// The numbers of equal tokens that make a match, and a long match.
constexpr size_t kShortMatch = 3;
constexpr size_t kLongMatch = 6;

// The number of guesses after a short match.
constexpr size_t kFewGuesses = 3;

// The budget for guesses, purse_, is counted in 128ths of the cost of a step of one token.
constexpr int32_t kToken = 128;
constexpr int32_t kIncome = 1;
#if defined(__wasm__)
constexpr int32_t kGuess = kToken * 5 / 8;
#else
constexpr int32_t kGuess = kToken / 2;
#endif
constexpr int32_t kFirstPurse = kFewGuesses * kGuess;
constexpr int32_t kFullPurse = 3 * kMostGuesses * kGuess;

}  // namespace

PromptLookup::PromptLookup(uint32_t n_ctx, uint32_t most)
    : most_(std::min(most, kMostGuesses)), purse_(kFirstPurse) {
  if (most_ == 0) return;
  seen_after_.resize(2 * std::bit_ceil(size_t{n_ctx}), kNowhere);  // large: few collisions
  guesses_.reserve(kMostGuesses);
}

void PromptLookup::forget() {
  std::fill(seen_after_.begin(), seen_after_.end(), kNowhere);
  n_indexed_ = 0;
  source_ = kNowhere;
}

void PromptLookup::draw(bool is_kept) {
  purse_ = std::min(purse_ + kIncome + (is_kept ? kToken : 0), kFullPurse);
}

void PromptLookup::repeat(uint32_t n) { purse_ -= static_cast<int32_t>(n) * kGuess; }

std::span<const TokenId> PromptLookup::guess(std::span<const TokenId> tokens, size_t n_room) {
  guesses_.clear();
  if (most_ == 0 || tokens.size() < kShortMatch) return guesses_;
  source_ = find(tokens);
  source_end_ = tokens.size();
  const size_t n_matched = match(tokens, source_);
  if (n_matched < kShortMatch) return guesses_;
  const size_t n = affordable(n_matched, n_room);
  for (size_t i = source_; guesses_.size() < n; ++i) {
    // After the end of the context, the guesses repeat themselves.
    const TokenId next = i < tokens.size() ? tokens[i] : guesses_[i - tokens.size()];
    if (next < 0) break;  // a row of a picture, which no answer contains
    guesses_.push_back(next);
  }
  purse_ -= static_cast<int32_t>(guesses_.size()) * kGuess;
  return guesses_;
}

// Returns where to read guesses: after the last place with the hash of the last tokens, or where
// the last guesses were read, if more tokens match there.
uint32_t PromptLookup::find(std::span<const TokenId> tokens) {
  for (; n_indexed_ + 1 < tokens.size(); ++n_indexed_) {
    const size_t n = n_indexed_ + 1;
    if (n >= kShortMatch) seen_after_[slot_of(tokens.first(n))] = static_cast<uint32_t>(n);
  }
  const uint32_t found = seen_after_[slot_of(tokens)];
  if (source_ == kNowhere) return found;
  const auto followed = static_cast<uint32_t>(source_ + tokens.size() - source_end_);
  return match(tokens, followed) > match(tokens, found) ? followed : found;
}

// Returns the slot of the last kShortMatch tokens.
size_t PromptLookup::slot_of(std::span<const TokenId> tokens) const {
  uint64_t hash = 0;
  for (const TokenId token : tokens.last(kShortMatch)) {
    hash = (hash + static_cast<uint32_t>(token)) * 0x9e3779b97f4a7c15u;
  }
  return static_cast<size_t>(hash >> 32) & (seen_after_.size() - 1);
}

// Returns how many tokens before `source` equal the last ones of the context, at most kLongMatch.
size_t PromptLookup::match(std::span<const TokenId> tokens, uint32_t source) const {
  if (source >= tokens.size()) return 0;
  size_t n = 0;
  while (n < kLongMatch && n < source && tokens[source - 1 - n] == tokens[tokens.size() - 1 - n]) {
    ++n;
  }
  return n;
}

size_t PromptLookup::affordable(size_t n_matched, size_t n_room) const {
  const size_t n_paid = static_cast<size_t>(std::max(purse_, 0) / kGuess);
  const size_t n_wanted = n_matched < kLongMatch ? kFewGuesses : kMostGuesses;
  const size_t n = std::min({n_wanted, n_room, n_paid, size_t{most_}});
  return n < kMostGuesses ? std::min(n, kFewGuesses) : n;  // in between, tiles are not filled
}

}  // namespace kinglet
