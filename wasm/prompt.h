// Prompts, as JavaScript describes them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/chat_layout.h"
#include "chat/conversation_prompt.h"
#include "json/json.h"
#include "openai/tools.h"
#include "text/tokenizer.h"
#include "vision/image_part.h"
#include "wasm/values.h"

namespace kinglet {

// Returns the parts from lists of EnginePicturePart.
PartsOfPictures to_pictures(const val& lists);

// Fails if memory has no room for what is made of a large JSON text.
Status check_room(std::string_view json);

// The same for a large text that is only tokenized.
Status check_room_for_tokens(std::string_view text);

// A prompt, and what its answer must know.
struct ReadPrompt {
  ConversationPrompt prompt;
  PartsOfPictures pictures = {};   // of the conversation
  openai::ChosenTools tools = {};  // of the conversation
  std::string prefix = {};         // with which the answer begins
};

// Whether an EnginePrompt is a conversation, which takes a layout.
bool is_conversation(const val& prompt);

// Reads an EnginePrompt. `layout`: null unless it is a conversation. `counts_opening`: see
// PromptOptions. Errors: those of make_prompt(); invalid_argument (JSON or tools that cannot be
// read); out_of_memory; cancelled.
Result<ReadPrompt> read_prompt(const val& prompt, const ChatLayout* layout,
                               const Tokenizer& tokenizer, bool counts_opening);

// Lays out an EngineConversation. Returns the texts of the template and of the messages in turn, or
// an error; the first text is the template's.
val lay_out(const val& conversation, const ChatLayout& layout);

}  // namespace kinglet
