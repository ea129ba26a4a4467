#include "model/text_group.h"

#include <span>

namespace kinglet {

void TextGroup::add(std::vector<int32_t> tokens) {
  n_tokens_ += tokens.size();
  texts_.push_back(std::move(tokens));
}

Status TextGroup::begin(const Cancellation& cancellation) {
  if (n_tokens_ > n_room_) {
    encoder_.reset();  // its memory may be needed
    n_room_ = 0;
    KINGLET_ASSIGN(encoder_, Encoder::create(model_, pool_, static_cast<uint32_t>(n_tokens_)));
    n_room_ = n_tokens_;
  }
  const std::vector<std::span<const int32_t>> spans(texts_.begin(), texts_.end());
  return encoder_->begin(spans, cancellation);
}

void TextGroup::clear() {
  texts_.clear();
  n_tokens_ = 0;
}

}  // namespace kinglet
