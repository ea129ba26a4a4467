// The metadata keys of a file's chat templates.
#pragma once

namespace kinglet {

// The usual template, and the one for conversations with tools.
constexpr const char* kChatTemplateKey = "tokenizer.chat_template";
constexpr const char* kToolTemplateKey = "tokenizer.chat_template.tool_use";

}  // namespace kinglet
