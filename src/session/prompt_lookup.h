// Guesses the next tokens from those that are in the context already (A. Saxena, 2023: Prompt
// Lookup Decoding). Answers that quote, edit or summarize repeat their prompt: if the last tokens
// were seen before, the tokens that followed them then may follow again. Guesses are computed in
// one step with the last token, which costs much less than as many steps. Those that the sampler
// also draws are kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/scratch.h"
#include "text/vocabulary.h"

namespace kinglet {

// A step computes the logits of at most kMostLogitRows rows: the last token and its guesses.
constexpr uint32_t kMostGuesses = kMostLogitRows - 1;

// The number of guesses depends on the tokens alone, never on clocks:
//
// - Nothing is guessed unless the last 3 tokens were seen before. A short match allows 3 guesses, a
//   long match 7: batches of 4 and of 8 fill the tiles of the kernels.
// - A budget (`purse_`) pays for guesses, so that text without repetition cannot lose much time. A
//   guess costs half a token: more than computing it takes, as a step reads the weights anyway. In
//   wasm, where computing takes longer than reading, it costs five eighths. A guess that is kept
//   earns a token. Each drawn token earns 1/128, which limits the loss in the long run. A budget
//   that is nearly empty still pays for a single guess now and then, which finds out where
//   repetition begins.
class PromptLookup {
 public:
  // Allocates all its memory. `most`: the guesses at a time, up to kMostGuesses; 0: none.
  PromptLookup(uint32_t n_ctx, uint32_t most);

  // Returns at most `n_room` guesses of the tokens that follow the context's `tokens`; they are
  // valid until the next call. `tokens` must begin with those of the call before, unless forget()
  // was called since.
  std::span<const TokenId> guess(std::span<const TokenId> tokens, size_t n_room);

  // Drops what is known of the context, because tokens have changed their positions.
  void forget();

  // Records that a token was drawn; `is_kept`: it had been guessed.
  void draw(bool is_kept);

  // Records that n guesses that were kept have to be computed once more.
  void repeat(uint32_t n);

 private:
  static constexpr uint32_t kNowhere = UINT32_MAX;

  size_t slot_of(std::span<const TokenId> tokens) const;
  size_t match(std::span<const TokenId> tokens, uint32_t source) const;
  uint32_t find(std::span<const TokenId> tokens);
  size_t affordable(size_t n_matched, size_t n_room) const;

  uint32_t most_;
  int32_t purse_;
  std::vector<uint32_t>
      seen_after_;              // by the hash of 3 tokens: the position after their last occurrence
  size_t n_indexed_ = 0;        // tokens whose successors' positions are in seen_after_
  uint32_t source_ = kNowhere;  // where the last guesses were read
  size_t source_end_ = 0;       // … and how many tokens the context had then
  std::vector<TokenId> guesses_;
};

}  // namespace kinglet
