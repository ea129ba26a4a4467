#include "openai/chat_events.h"

#include <utility>
#include <vector>

namespace kinglet::openai {

std::string_view finish_name(FinishReason reason) {
  return reason == FinishReason::length || reason == FinishReason::context ? "length" : "stop";
}

std::optional<ChatEvent> ChatEvents::read(const GenerationStep& step, Json logprob) {
  if (!logprob.is_null()) logprobs_.push_back(std::move(logprob));
  n_tokens_ += step.token != kNoToken;
  reason_ = step.finish;
  ChatEvent event{next_delta(step)};
  if (!event.added.thought.empty()) n_thought_tokens_ = n_tokens_;
  has_called_ = has_called_ || !event.added.calls.empty();
  // The last tokens may have no text of their own.
  const bool ends_with_logprobs = step.is_last() && !logprobs_.empty();
  if (event.added.empty() && !ends_with_logprobs) return std::nullopt;
  event.logprobs = std::exchange(logprobs_, Json::array());
  return event;
}

AnswerDelta ChatEvents::next_delta(const GenerationStep& step) {
  AnswerDelta added = answer_.push(step.text);
  if (step.is_last()) added += answer_.end();
  std::erase_if(added.calls,
                [&](const CallDelta& call) { return call.index >= request_.n_calls_most; });
  return added;
}

std::string_view ChatEvents::finish() const {
  const size_t n_most = request_.n_calls_most;
  if (has_called_ && answer_.has_whole_calls(n_most)) return "tool_calls";
  return finish_name(answer_.finish(reason_, n_most));
}

}  // namespace kinglet::openai
