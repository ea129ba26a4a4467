// Any text as a file's template, and any conversation.
#include "text/chat_template.h"

#include <string>
#include <vector>

#include "fuzz/input.h"

namespace kinglet::fuzz {
namespace {

constexpr uint32_t kMaxMessages = 6;

}  // namespace

void chat_template(Bytes bytes) {
  Input input(bytes);
  const RenderOptions options{.thinking = input.flag(),
                              .now = {.year = input.number<int16_t>(),
                                      .month = static_cast<int>(input.up_to(11)) + 1,
                                      .day = static_cast<int>(input.up_to(30)) + 1}};
  std::vector<ChatMessage> messages;
  for (uint32_t n = input.up_to(kMaxMessages); n > 0; --n) {
    const auto role = static_cast<ChatRole>(input.up_to(2));
    messages.push_back({role, std::string(input.text(input.up_to(64)))});
  }
  const std::string_view source = input.rest_text();
  const auto chat = ChatTemplate::parse(source, "<s>", "</s>");
  if (!chat.ok()) {
    check(chat.error().code == ErrorCode::unsupported_feature, "an unexpected error");
    return;
  }
  const auto prompt = chat.value().render(messages, options);
  if (!prompt.ok()) {
    check(prompt.error().code == ErrorCode::invalid_argument ||
              prompt.error().code == ErrorCode::out_of_memory,
          "an unexpected error");
    return;
  }
  const auto& [text, said] = prompt.value();
  size_t end = 0;
  for (const TextRange& range : said) {
    check(end <= range.begin && range.begin < range.end && range.end <= text.size(),
          "a range out of order");
    end = range.end;
  }
}

}  // namespace kinglet::fuzz
