// Checks token by token that a generated text matches a grammar.
#pragma once

#include <limits>
#include <memory>
#include <string>

#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/grammar_matcher.h"
#include "session/token_masks.h"
#include "text/tokenizer.h"

namespace kinglet {

constexpr float kRefusedLogit = std::numeric_limits<float>::lowest();

class Constraint {
 public:
  // `tokenizer` must outlive the constraint. `at_start` has the same meaning as for the
  // StreamDecoder that makes the text: the grammar describes that text.
  Constraint(std::shared_ptr<const Grammar> grammar, const Tokenizer& tokenizer, bool at_start);

  // Whether the text may continue with this token: either the grammar takes the token by its id, or
  // it takes all bytes of the token, which must have at least one. A token that ends generation is
  // allowed if the text is complete.
  bool allows(TokenId id);

  // All tokens that allows() allows. Valid until the next call of any function here.
  const TokenSet& allowed();

  // Appends a token to the text. It must be allowed, and must not end generation.
  void accept(TokenId id);

  // Whether the text is complete, and nothing can follow.
  bool is_finished() const {
    return matcher_.is_complete(state_) && !matcher_.can_continue(state_);
  }

  // The error to report if no token is allowed: ErrorCode::grammar_dead_end.
  Error dead_end() const;

 private:
  GrammarMatcher::State after(TokenId id);
  GrammarMatcher::State after_named(TokenId id);

  GrammarMatcher matcher_;
  GrammarMatcher::State state_;
  const Tokenizer* tokenizer_;
  TokenMasks masks_;
  bool at_start_;  // whether the next token begins a text, or follows an added token
  std::string scratch_;
};

}  // namespace kinglet
