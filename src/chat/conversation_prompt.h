// Makes the prompt of a conversation: laid out by a chat template, with its pictures, and with as
// many of its messages as the context has room for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "chat/conversation_fit.h"
#include "json/json.h"
#include "model/images.h"
#include "session/generation.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"
#include "vision/image_part.h"

namespace kinglet {

// What happens when a conversation has no room in the context.
enum class OnFull : uint8_t {
  error,        // it is refused; an answer ends where the context is full
  drop_oldest,  // the oldest exchanges are left out; an answer ends where the context is full
  shift,        // the same, and a full context drops its older half while it is answered
};

// Returns the value called "error", "dropOldest" or "shift"; nullopt for other names.
std::optional<OnFull> find_on_full(std::string_view name);

// The names, for errors.
constexpr std::string_view kOnFullNames = R"("error", "dropOldest" or "shift")";

struct ChatMessages {
  Json list = Json::array();      // as chat templates read them
  std::string picture_mark = {};  // stands in the texts for each picture
  PartsOfPictures pictures = {};  // in the order of the marks
};

// Lays out some messages of a conversation.
using LayOut = std::function<Result<ChatText>(const Json& list)>;

struct PromptOptions {
  OnFull on_full = OnFull::error;
  uint32_t n_ctx = 0;                // the most positions of a prompt and its answer
  uint32_t max_tokens = 0;           // of the answer
  bool add_bos = true;               // see EncodeOptions
  std::vector<TokenId> prefix = {};  // of the answer; they end the prompt
  bool counts_opening = false;       // see ConversationPrompt
  Cancellation cancellation = {};
};

struct ConversationPrompt {
  std::vector<TokenId> tokens;
  std::vector<SharedImage> images;
  std::string end;                      // the template's own text at the end
  size_t n_dropped = 0;                 // messages that were left out
  std::optional<uint32_t> n_kept = {};  // tokens that a context keeps when it drops its older half
  uint32_t n_opening = 0;               // tokens of the system messages and tools; 0: not counted

  // Gives the generation what it needs in addition to the tokens.
  void prepare(GenerationOptions& options);
};

// Errors: those of `lay_out`; cancelled; unsupported_feature (the template leaves out a picture, or
// repeats it). A prompt that is too long is not an error here.
Result<ConversationPrompt> make_prompt(const ChatMessages& messages, const LayOut& lay_out,
                                       const Tokenizer& tokenizer, const PromptOptions& options);

}  // namespace kinglet
