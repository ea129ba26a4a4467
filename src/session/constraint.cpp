#include "session/constraint.h"

#include <utility>

namespace kinglet {

Constraint::Constraint(std::shared_ptr<const Grammar> grammar, const Tokenizer& tokenizer,
                       bool at_start)
    : matcher_(std::move(grammar)),
      state_(matcher_.start()),
      tokenizer_(&tokenizer),
      masks_(tokenizer),
      at_start_(at_start) {}

bool Constraint::allows(TokenId id) {
  if (tokenizer_->is_end_of_generation(id)) return matcher_.is_complete(state_);
  if (matcher_.is_full()) state_ = matcher_.forget_all_but(state_);
  return after(id) != GrammarMatcher::kRefused;
}

const TokenSet& Constraint::allowed() {
  const bool drops_space = at_start_ && tokenizer_->vocabulary().add_space_prefix();
  return masks_.after(matcher_, state_, drops_space);
}

void Constraint::accept(TokenId id) {
  state_ = after(id);
  tokenizer_->append_text(id, false, at_start_, scratch_);
  scratch_.clear();
}

// Returns the state after a token that the grammar names. A token that ends generation is refused:
// it is not part of the text.
GrammarMatcher::State Constraint::after_named(TokenId id) {
  const bool is_text = id < tokenizer_->n_tokens() && !tokenizer_->is_end_of_generation(id);
  return is_text ? matcher_.next_token(state_, id) : GrammarMatcher::kRefused;
}

GrammarMatcher::State Constraint::after(TokenId id) {
  if (!matcher_.grammar().tokens().empty()) {
    const GrammarMatcher::State state = after_named(id);
    if (state != GrammarMatcher::kRefused) return state;
  }
  std::string_view text = tokenizer_->piece(id);
  if (at_start_) {
    bool at_start = true;
    scratch_.clear();
    tokenizer_->append_text(id, false, at_start, scratch_);
    text = scratch_;
  }
  if (text.empty()) return GrammarMatcher::kRefused;
  return matcher_.next(state_, text);
}

Error Constraint::dead_end() const {
  if (matcher_.is_too_ambiguous()) {
    return {ErrorCode::grammar_dead_end,
            "the grammar is too ambiguous: the text so far can be parsed in too many ways"};
  }
  return {
      ErrorCode::grammar_dead_end,
      "the grammar cannot continue: it allows no token of the vocabulary after the text so far"};
}

}  // namespace kinglet
