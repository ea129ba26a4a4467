// Where a file has its chat templates.
#pragma once

namespace kinglet {

// The usual one, and that for conversations with tools.
constexpr const char* kChatTemplateKey = "tokenizer.chat_template";
constexpr const char* kToolTemplateKey = "tokenizer.chat_template.tool_use";

}  // namespace kinglet
