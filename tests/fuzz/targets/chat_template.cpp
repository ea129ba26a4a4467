// Any text as a file's template, and any conversation.
#include "text/chat_template.h"

#include <utility>

#include "fuzz/input.h"
#include "json/json.h"

namespace kinglet::fuzz {
namespace {

constexpr uint32_t kMaxMessages = 6;
constexpr const char* kRoles[] = {"system", "user", "assistant"};

}  // namespace

void chat_template(Bytes bytes) {
  Input input(bytes);
  const bool thinks = input.flag();
  const jinja::Now now = {.year = input.number<int16_t>(),
                          .month = static_cast<int>(input.up_to(11)) + 1,
                          .day = static_cast<int>(input.up_to(30)) + 1};
  Json messages = Json::array();
  for (uint32_t n = input.up_to(kMaxMessages); n > 0; --n) {
    const char* role = kRoles[input.up_to(2)];
    messages.push_back({{"role", role}, {"content", input.text(input.up_to(64))}});
  }
  auto variables = chat_variables(
      {{"messages", messages}, {"add_generation_prompt", true}, {"enable_thinking", thinks}});
  if (!variables.ok()) return;  // a text is not valid UTF-8
  const std::string_view source = input.rest_text();
  const auto chat = ChatTemplate::parse(source, "<s>", "</s>");
  if (!chat.ok()) {
    check(chat.error().code == ErrorCode::unsupported_feature, "an unexpected error");
    return;
  }
  const auto prompt = chat.value().render(std::move(variables.value()), now);
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
