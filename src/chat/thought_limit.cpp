#include "chat/thought_limit.h"

namespace kinglet {

void ThoughtLimit::accept(TokenId token, bool is_thinking, bool ends_character) {
  if (token == next()) ++n_ended_;
  if (is_thinking_) ++n_tokens_;
  is_thinking_ = is_thinking;
  ends_character_ = ends_character;
  if (is_thinking) return;
  n_tokens_ = 0;
  n_ended_ = 0;
}

TokenId ThoughtLimit::next() const {
  if (!is_thinking_ || n_ended_ == end_.size()) return kNoToken;
  if (n_ended_ > 0) return end_[n_ended_];
  return n_tokens_ >= n_most_ && ends_character_ ? end_[0] : kNoToken;
}

}  // namespace kinglet
