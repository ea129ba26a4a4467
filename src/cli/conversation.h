// A conversation with a model, message by message.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answers/answer.h"
#include "base/cancellation.h"
#include "base/result.h"
#include "chat/chat_layout.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "gguf/header.h"
#include "json/json.h"
#include "openai/generation_request.h"
#include "openai/served_model.h"
#include "text/tool_results.h"
#include "text/vocabulary.h"

namespace kinglet::cli {

// Returns the layout by the template in the file `path`; without a path, by the built-in format
// called `format`; without either, by the model's template.
Result<ChatLayout> choose_layout(const GgufHeader& header, const Vocabulary& vocabulary,
                                 const std::string& format, const std::string& path);

// Returns a message of this role.
Json message_of(std::string_view role, std::string_view content);

// Returns the messages at the beginning of a conversation; `system` may be "".
Json opening(std::string_view system);

// Receives the progress of an answer, and what it adds.
struct AnswerListener {
  std::function<void(uint32_t n_done, uint32_t n_tokens)> on_prompt;
  std::function<void(const AnswerDelta& added)> on_added;
  std::function<void(std::string_view warning)> on_warning;  // about the schema
};

// Reads the picture in the file `path`.
using ReadPicture =
    std::function<Result<PictureParts>(const std::string& path, const Cancellation& cancellation)>;

// Each answer is one to a request of OpenAI's chat API, which the program makes of the messages and
// its own options.
class Conversation {
 public:
  // Reads the files of tools and of a schema that the options name. The run and the options must
  // outlive the conversation. Errors: io (a file cannot be read), invalid_argument (it holds no
  // JSON).
  static Result<Conversation> create(Run& run, ChatLayout layout, const ChatOptions& options,
                                     ReadPicture read_picture);

  // Adds the message, with pictures in front of it, given by their paths, and the answer, which the
  // listener receives piece by piece. If a call waits for its result, the message is that result,
  // and the answer comes once no call waits. The part of a cancelled answer that was generated
  // stays. After an error the conversation is unchanged.
  Status answer(std::string_view message, const std::vector<std::string>& pictures,
                const AnswerListener& listener, const Cancellation& cancellation);

  // The first call of the last answer that has no result yet, or null.
  const Json* waiting_call() const { return kinglet::waiting_call(messages_); }

  // Starts a new conversation with this system message; "": none.
  void restart(const std::string& system) { messages_ = opening(system); }

  // A list of messages as in OpenAI's API. The URLs of pictures are paths.
  const Json& messages() const { return messages_; }

  // Returns {"messages": […]}.
  std::string to_json() const { return print({{"messages", messages_}}, "  ") + "\n"; }
  // Replaces the conversation by that of to_json(). Errors: invalid_argument; the conversation is
  // then unchanged.
  Status from_json(std::string_view json);

 private:
  Conversation(Run& run, ChatLayout layout, const ChatOptions& options, ReadPicture read_picture);

  Json request() const;
  Result<openai::GenerationRequest> read_request(const Cancellation& cancellation) const;
  Result<Json> generate(const AnswerListener& listener, const Cancellation& cancellation);

  Run& run_;
  ChatLayout layout_;
  const ChatOptions& options_;
  ReadPicture read_picture_;
  std::optional<Json> tools_ = {};
  std::optional<Json> schema_ = {};
  Json messages_;
};

}  // namespace kinglet::cli
