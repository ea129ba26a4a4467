// A conversation with a model, message by message.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "text/answer/answer_format.h"
#include "text/chat_template.h"
#include "vision/image_part.h"

namespace kinglet::cli {

// A template, and the format of the answers of its models.
struct ChatFormat {
  ChatTemplate chat_template;
  AnswerFormat answers;
};

// Returns the format of the template in the file `path`; without a path, the built-in one called
// `format`; without either, that of the model.
Result<ChatFormat> choose_format(const GgufHeader& header, const Vocabulary& vocabulary,
                                 const std::string& format, const std::string& path);

std::vector<ChatMessage> opening(const std::string& system);

// Receives the progress and the text of an answer.
struct AnswerListener {
  std::function<void(uint32_t n_done, uint32_t n_tokens)> on_prompt;
  std::function<void(std::string_view text, bool is_thought)> on_text;
};

class Conversation {
 public:
  Conversation(Run& run, ChatFormat format, const ChatOptions& options);

  // Adds the message, with pictures in front of it, and the answer, which the listener receives
  // piece by piece. Of a cancelled answer, the part that was generated stays. After an error the
  // conversation is unchanged.
  Status answer(std::string_view message, std::span<const std::vector<ImagePart>> pictures,
                const AnswerListener& listener, const Cancellation& cancellation);

  // Starts a new conversation with this system message; "": none.
  void restart(const std::string& system);

  const std::vector<ChatMessage>& messages() const { return messages_; }

  // Returns {"messages": [{"role", "content"}, …]}, as in OpenAI's API. Errors: unsupported_feature
  // (the conversation has pictures).
  Result<std::string> to_json() const;
  // Replaces the conversation by that of to_json(). Errors: invalid_argument; the conversation is
  // then unchanged.
  Status from_json(std::string_view json);

 private:
  Result<std::string> stream_answer(const AnswerListener& listener,
                                    const Cancellation& cancellation);

  Run& run_;
  ChatFormat format_;
  const ChatOptions& options_;
  std::vector<ChatMessage> messages_;
  std::string image_mark_;  // stands for a picture in messages; random, so that no text spells it
  std::vector<std::vector<ImagePart>> pictures_;  // of all messages, in their order
};

}  // namespace kinglet::cli
