// Guesses what comes next from what stands in the context already (A. Saxena, 2023: Prompt Lookup
// Decoding). Answers that quote, edit or summarize repeat their prompt; where the last tokens were
// seen before, what followed them then may follow again. Guesses that are computed in one step with
// the last token cost much less than as many steps, and those that the sampler draws too are kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/scratch.h"
#include "text/vocabulary.h"

namespace kinglet {

// More rows than logits are computed for make no sense.
constexpr uint32_t kMostGuesses = kMostLogitRows - 1;

// How many tokens are guessed depends on the tokens alone, never on clocks:
//
// - Nothing, unless the last 3 tokens were seen before. A short match promises 3 guesses, and a
//   long one 7: batches of 4 and of 8 fill the tiles of the kernels.
// - A purse pays for guesses, so that text which does not repeat cannot lose much. A guess costs
//   half a token, more than computing it takes beside the weights that a step reads anyway; one
//   that is kept earns a token. Each token drawn brings 1/64, which is what can be lost in the long
//   run. A purse that is nearly empty still buys a single guess now and then, which finds out where
//   repetition begins.
class PromptLookup {
 public:
  // Allocates all it will need. `most` guesses at a time, up to kMostGuesses; 0: none.
  PromptLookup(uint32_t n_ctx, uint32_t most);

  // Guesses of what follows the context's `tokens`, at most `n_room`; until the next call. `tokens`
  // begin with those of the call before, unless forget() was called since.
  std::span<const TokenId> guess(std::span<const TokenId> tokens, size_t n_room);

  // Tokens have changed their positions.
  void forget();

  // A token was drawn; `is_kept`: it had been guessed.
  void draw(bool is_kept);

  // n tokens that were kept have to be computed once more.
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
      seen_after_;              // by the hash of 3 tokens: the position after the last such ones
  size_t n_indexed_ = 0;        // tokens whose successors' positions are in it
  uint32_t source_ = kNowhere;  // where the last guesses were read
  size_t source_end_ = 0;       // … and how many tokens the context had then
  std::vector<TokenId> guesses_;
};

}  // namespace kinglet
