#include "answers/answer_message.h"

#include <string>

namespace kinglet {

void add_to(Json& message, const AnswerDelta& added) {
  const auto add = [&](const char* key, const std::string& text) {
    if (text.empty()) return;
    Json& known = message[key];
    if (known.is_null()) known = "";
    known.as_string() += text;
  };
  add("reasoning_content", added.thought);
  add("content", added.text);
  for (const CallDelta& call : added.calls) {
    if (call.name) {
      message["tool_calls"].push_back({{"id", call.id},
                                       {"type", "function"},
                                       {"function", {{"name", *call.name}, {"arguments", ""}}}});
    }
    message["tool_calls"][call.index]["function"]["arguments"].as_string() += call.arguments;
  }
}

}  // namespace kinglet
