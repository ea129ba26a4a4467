#include "session/constraint.h"

#include <utility>

namespace kinglet {

Constraint::Constraint(std::shared_ptr<const Grammar> grammar, const Tokenizer& tokenizer,
                       bool at_start)
    : matcher_(std::move(grammar)),
      state_(matcher_.start()),
      tokenizer_(&tokenizer),
      at_start_(at_start) {}

bool Constraint::allows(TokenId id) {
  if (tokenizer_->is_end_of_generation(id)) return matcher_.is_complete(state_);
  if (matcher_.is_full()) state_ = matcher_.forget_all_but(state_);
  return behind(id) != GrammarMatcher::kRefused;
}

void Constraint::accept(TokenId id) {
  state_ = behind(id);
  tokenizer_->append_text(id, false, at_start_, scratch_);
  scratch_.clear();
}

GrammarMatcher::State Constraint::behind(TokenId id) {
  std::string_view text = tokenizer_->piece(id);
  if (at_start_) {
    bool at_start = true;
    scratch_.clear();
    tokenizer_->append_text(id, false, at_start, scratch_);
    text = scratch_;
  }
  if (text.empty()) return GrammarMatcher::kRefused;
  GrammarMatcher::State state = state_;
  for (const char c : text) {
    state = matcher_.next(state, static_cast<uint8_t>(c));
    if (state == GrammarMatcher::kRefused) break;
  }
  return state;
}

Error Constraint::dead_end() const {
  if (matcher_.is_too_ambiguous()) {
    return {ErrorCode::grammar_dead_end,
            "the grammar is too ambiguous: there are too many ways to read the text so far"};
  }
  return {ErrorCode::grammar_dead_end,
          "the grammar cannot go on: no token of the vocabulary fits behind the text so far"};
}

}  // namespace kinglet
