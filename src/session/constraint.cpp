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
  return after(id) != GrammarMatcher::kRefused;
}

void Constraint::mask(std::span<float> logits) {
  if (at_start_ && tokenizer_->vocabulary().add_space_prefix()) {  // texts of tokens differ here
    for (size_t i = 0; i < logits.size(); ++i) {
      if (!allows(static_cast<TokenId>(i))) logits[i] = kRefusedLogit;
    }
    return;
  }
  // Tokens that the grammar names are checked separately: such a token may be a control token, or
  // one whose text the grammar does not allow.
  const auto named = matcher_.grammar().tokens();
  named_.clear();
  for (const TokenId id : named) {
    named_.push_back(after_named(id) == GrammarMatcher::kRefused ? kRefusedLogit
                                                                 : logits[static_cast<size_t>(id)]);
  }
  mask_text(logits);
  const bool is_complete = matcher_.is_complete(state_);
  for (const TokenId id : tokenizer_->index().others()) {
    if (is_complete && tokenizer_->is_end_of_generation(id)) continue;
    logits[static_cast<size_t>(id)] = kRefusedLogit;
  }
  const auto n_tokens = static_cast<size_t>(tokenizer_->n_tokens());
  for (float& unused : logits.subspan(n_tokens)) unused = kRefusedLogit;
  for (size_t i = 0; i < named.size(); ++i) {
    if (named_[i] != kRefusedLogit) logits[static_cast<size_t>(named[i])] = named_[i];
  }
}

// Checks tokens in the order of their bytes, each from the byte at which it differs from the token
// before it.
void Constraint::mask_text(std::span<float> logits) {
  const TokenIndex& index = tokenizer_->index();
  path_.resize(index.max_bytes() + 1);
  path_[0] = state_;
  size_t n_followed = 0;  // bytes of the previous token that the grammar takes
  for (size_t i = 0; i < index.size(); ++i) {
    const auto& [id, n_shared, _] = index[i];
    float& logit = logits[static_cast<size_t>(id)];
    if (n_shared > n_followed) {
      logit = kRefusedLogit;
      continue;
    }
    std::string_view rest = index.rest(i);
    n_followed = n_shared;
    if (matcher_.is_full()) {
      path_[0] = state_ = matcher_.forget_all_but(state_);
      rest = tokenizer_->piece(id);
      n_followed = 0;
    }
    for (const char c : rest) {
      const GrammarMatcher::State next = matcher_.next(path_[n_followed], static_cast<uint8_t>(c));
      if (next == GrammarMatcher::kRefused) {
        logit = kRefusedLogit;
        break;
      }
      path_[++n_followed] = next;
    }
  }
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
            "the grammar is too ambiguous: there are too many ways to read the text so far"};
  }
  return {ErrorCode::grammar_dead_end,
          "the grammar cannot go on: no token of the vocabulary fits after the text so far"};
}

}  // namespace kinglet
