// Finds the tokens that may follow a state of a grammar, and keeps them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "grammar/grammar_matcher.h"
#include "text/tokenizer.h"

namespace kinglet {

class TokenMasks {
 public:
  using State = GrammarMatcher::State;

  // `tokenizer` must outlive the masks.
  explicit TokenMasks(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  // Returns the tokens that a text may go on with: those that the grammar takes by their ids, those
  // whose bytes it takes, and where the text is complete, those that end generation. The result is
  // valid until the next call. All calls must be with the same matcher. `state` gets another number
  // if the matcher is full. `drops_space`: a token's first space is not part of the text.
  const TokenSet& after(GrammarMatcher& matcher, State& state, bool drops_space);

 private:
  // What is known about the characters of a class.
  struct Proof {
    size_t n_free = 0;          // so many may follow, whichever they are
    bool refuses_more = false;  // more than that may not, whichever they are
  };
  struct Range {  // of entries of the index
    size_t begin;
    size_t end;
  };

  void find(GrammarMatcher& matcher, State& state, bool drops_space, TokenSet& found);
  void walk(GrammarMatcher& matcher, State& state, Range range, bool drops_space, TokenSet& found);
  static Proof prove(GrammarMatcher& matcher, State state,
                     std::span<const CharacterBytes> characters);
  void find_added(GrammarMatcher& matcher, State state, TokenSet& found) const;

  const Tokenizer* tokenizer_;
  // Masks that were found, and their states. The oldest one is replaced.
  std::vector<State> states_;
  std::vector<TokenSet> masks_;
  size_t next_slot_ = 0;
  uint32_t n_forgotten_ = 0;  // by the matcher, when the masks were found
  std::vector<State> path_;   // after each byte of a token; scratch
};

// Sets the logits of all tokens that are not in the set to `refused`.
void keep_only(const TokenSet& tokens, float refused, std::span<float> logits);

}  // namespace kinglet
