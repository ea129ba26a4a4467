// A conversation with a model, message by message.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "chat/chat_layout.h"
#include "chat/conversation_prompt.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "gguf/header.h"
#include "json/json.h"
#include "text/vocabulary.h"
#include "vision/image_part.h"

namespace kinglet::cli {

// Returns the layout by the template in the file `path`; without a path, by the built-in format
// called `format`; without either, by the model's template.
Result<ChatLayout> choose_layout(const GgufHeader& header, const Vocabulary& vocabulary,
                                 const std::string& format, const std::string& path);

// Returns the variables of a template that lays out a conversation up to the next answer.
Json template_variables(const Json& messages, bool thinking);

// Returns a message of this role.
Json message_of(std::string_view role, std::string_view content);

// Returns the messages at the beginning of a conversation; `system` may be "".
Json opening(std::string_view system);

// Receives the progress and the text of an answer.
struct AnswerListener {
  std::function<void(uint32_t n_done, uint32_t n_tokens)> on_prompt;
  std::function<void(std::string_view text, bool is_thought)> on_text;
};

class Conversation {
 public:
  Conversation(Run& run, ChatLayout layout, const ChatOptions& options);

  // Adds the message, with pictures in front of it, and the answer, which the listener receives
  // piece by piece. Of a cancelled answer, the part that was generated stays. After an error the
  // conversation is unchanged.
  Status answer(std::string_view message, std::span<const std::vector<ImagePart>> pictures,
                const AnswerListener& listener, const Cancellation& cancellation);

  // Starts a new conversation with this system message; "": none.
  void restart(const std::string& system);

  // A list of {"role", "content"}, as in OpenAI's API.
  const Json& messages() const { return messages_.list; }

  // Returns {"messages": […]}. Errors: unsupported_feature
  // (the conversation has pictures).
  Result<std::string> to_json() const;
  // Replaces the conversation by that of to_json(). Errors: invalid_argument; the conversation is
  // then unchanged.
  Status from_json(std::string_view json);

 private:
  Result<std::string> stream_answer(const AnswerListener& listener,
                                    const Cancellation& cancellation);

  Run& run_;
  ChatLayout layout_;
  const ChatOptions& options_;
  ChatMessages messages_;  // with a random mark for pictures, so that no text spells it
};

}  // namespace kinglet::cli
