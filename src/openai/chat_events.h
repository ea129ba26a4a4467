// Reads the answer to a conversation, step by step, for all the APIs that tell it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "chat/chat_answer.h"
#include "json/json.h"
#include "openai/generation_request.h"
#include "session/generation.h"

namespace kinglet::openai {

// "stop" or "length". A full context cuts an answer short, as max_tokens does.
std::string_view finish_name(FinishReason reason);

// What one or several steps add to an answer. It has no calls beyond those that the request allows.
struct ChatEvent {
  AnswerDelta added;
  Json logprobs = Json::array();  // of the tokens read since the last event
};

class ChatEvents {
 public:
  // The request must outlive the object.
  explicit ChatEvents(const ChatRequest& request) : request_(request), answer_(request.answer) {}

  // Reads the next step; `logprob` is that of its token as JSON, or null. Returns nullopt if the
  // step adds nothing that is certain.
  std::optional<ChatEvent> read(const GenerationStep& step, Json logprob);

  // The rest is for the end of the answer: "stop", "length" or "tool_calls". See
  // ChatAnswer::finish().
  std::string_view finish() const;

  // The tokens up to the end of the last thought.
  uint64_t n_thought_tokens() const { return n_thought_tokens_; }

 private:
  AnswerDelta next_delta(const GenerationStep& step);

  const ChatRequest& request_;
  ChatAnswer answer_;
  Json logprobs_ = Json::array();
  uint64_t n_tokens_ = 0;
  uint64_t n_thought_tokens_ = 0;
  bool has_called_ = false;
  FinishReason reason_ = FinishReason::none;
};

}  // namespace kinglet::openai
