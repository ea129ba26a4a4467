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

// A template, and how answers of its models are written.
struct ChatFormat {
  ChatTemplate chat_template;
  AnswerFormat answers;
};

// The format called `format`, or the template in the file `path`, or else that of the model.
Result<ChatFormat> choose_format(const GgufHeader& header, const Vocabulary& vocabulary,
                                 const std::string& format, const std::string& path);

jinja::Now local_time();

std::vector<ChatMessage> opening(const std::string& system);

// What a conversation tells while it answers.
struct AnswerListener {
  std::function<void(uint32_t n_done, uint32_t n_tokens)> on_prompt;
  std::function<void(std::string_view text, bool is_thought)> on_text;
};

class Conversation {
 public:
  Conversation(Run& run, ChatFormat format, const ChatOptions& options);

  // Adds the message, with pictures in front of it, and the answer, which is told piece by piece.
  // An answer that is cancelled stays as far as it came. After an error the conversation is as it
  // was.
  Status answer(std::string_view message, std::span<const std::vector<ImagePart>> pictures,
                const AnswerListener& listener, const Cancellation& cancellation);

  // Begins anew, with this system message; "": none.
  void restart(const std::string& system);

  const std::vector<ChatMessage>& messages() const { return messages_; }

  // {"messages": [{"role", "content"}, …]}, as OpenAI's interface has them.
  // ErrorCode::unsupported_feature where there are pictures.
  Result<std::string> to_json() const;
  // The same back. ErrorCode::invalid_argument; the conversation is as it was then.
  Status from_json(std::string_view json);

 private:
  Result<std::string> stream_answer(const AnswerListener& listener,
                                    const Cancellation& cancellation);

  Run& run_;
  ChatFormat format_;
  const ChatOptions& options_;
  std::vector<ChatMessage> messages_;
  std::string image_mark_;  // where pictures stand in messages; nobody who writes one knows it
  std::vector<std::vector<ImagePart>> pictures_;  // of all messages, in their order
};

}  // namespace kinglet::cli
