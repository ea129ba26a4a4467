#include "session/thought_limit.h"

namespace kinglet {

void ThoughtLimit::accept(TokenId token, std::string_view text) {
  const bool was_thinking = reader_.is_thinking();
  if (token == next()) ++n_ended_;
  std::vector<AnswerPart> parts;
  reader_.push(text, parts);
  has_whole_characters_ = !text.empty();
  if (was_thinking) ++n_tokens_;
  if (reader_.is_thinking()) return;
  n_tokens_ = 0;
  n_ended_ = 0;
}

TokenId ThoughtLimit::next() const {
  if (!reader_.is_thinking() || n_ended_ == end_.size()) return kNoToken;
  if (n_ended_ > 0) return end_[n_ended_];
  return n_tokens_ >= n_most_ && has_whole_characters_ ? end_[0] : kNoToken;
}

}  // namespace kinglet
