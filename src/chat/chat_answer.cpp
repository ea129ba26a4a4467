#include "chat/chat_answer.h"

#include <utility>

namespace kinglet {

AnswerDelta& AnswerDelta::operator+=(AnswerDelta next) {
  text += next.text;
  thought += next.thought;
  for (CallDelta& call : next.calls) {
    if (!call.name && !calls.empty()) {
      calls.back().arguments += call.arguments;
    } else {
      calls.push_back(std::move(call));
    }
  }
  return *this;
}

AnswerDelta ChatAnswer::push(std::string_view text) {
  reader_.push(text, parts_);
  return take_parts();
}

AnswerDelta ChatAnswer::end() {
  reader_.end(parts_);
  return take_parts();
}

FinishReason ChatAnswer::finish(FinishReason reason, size_t n_most) const {
  const bool is_cut = n_calls_ > 0 && !reader_.has_whole_calls(n_most);
  return is_cut && reason == FinishReason::stop ? FinishReason::length : reason;
}

AnswerDelta ChatAnswer::take_parts() {
  AnswerDelta delta;
  for (AnswerPart& part : parts_) {
    switch (part.kind) {
      case AnswerPart::Kind::text:
        delta.text += part.text;
        break;
      case AnswerPart::Kind::thought:
        delta.thought += part.text;
        break;
      case AnswerPart::Kind::call:
        delta.calls.push_back({n_calls_++, std::move(part.text), ""});
        break;
      case AnswerPart::Kind::arguments:
        if (delta.calls.empty()) delta.calls.push_back({n_calls_ - 1, std::nullopt, ""});
        delta.calls.back().arguments += part.text;
        break;
    }
  }
  parts_.clear();
  return delta;
}

}  // namespace kinglet
