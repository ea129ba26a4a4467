#include "chat/chat_layout.h"

#include <string>
#include <utility>

#include "text/chat_keys.h"

namespace kinglet {
namespace {

std::string_view metadata(const GgufHeader& header, const char* key) {
  const auto found = header.get_string(key, "");
  return found.ok() ? found.value() : std::string_view();
}

// Converts the messages' texts to lists of parts, as OpenAI's API has them.
Json with_parts(Json variables) {
  Json* messages = variables.find("messages");
  if (messages == nullptr || !messages->is_array()) return variables;
  for (Json& message : messages->as_array()) {
    Json* content = message.find("content");
    if (content == nullptr || !content->is_string()) continue;
    *content = Json::array({Json{{"type", "text"}, {"text", std::move(*content)}}});
  }
  return variables;
}

Result<ChatText> render(const ChatTemplate& program, const Json& variables,
                        const Cancellation& cancellation = {}) {
  KINGLET_ASSIGN(jinja::Dict given, chat_variables(variables, cancellation));
  return program.render(std::move(given), jinja::local_time(), cancellation);
}

bool reads_only_parts(const ChatTemplate& program) {
  constexpr std::string_view kMark = "any text";
  const Json variables = {{"messages", Json::array({{{"role", "user"}, {"content", kMark}}})},
                          {"add_generation_prompt", true}};
  const auto says_it = [&](const Json& given) {
    const auto text = render(program, given);
    return text.ok() && text.value().text.find(kMark) != std::string::npos;
  };
  return !says_it(variables) && says_it(with_parts(variables));
}

}  // namespace

ChatLayout::Side::Side(Result<ChatTemplate> parsed, std::string_view source)
    : program(std::move(parsed)),
      format(find_answer_format(source)),
      dialect{.knows_tools = format.knows_tools,
              .knows_calls = format.knows_tools || source.find("tool_calls") != source.npos,
              .knows_developer = source.find("developer") != source.npos},
      reads_parts(program.ok() && reads_only_parts(program.value())) {}

ChatLayout::ChatLayout(const GgufHeader& header, const Vocabulary& vocabulary,
                       std::string_view own_template)
    : usual_(own_template.empty()
                 ? Side(ChatTemplate::from_gguf(header, vocabulary),
                        metadata(header, kChatTemplateKey))
                 : Side(ChatTemplate::parse(own_template, vocabulary), own_template)) {
  const std::string_view for_tools = metadata(header, kToolTemplateKey);
  if (!own_template.empty() || for_tools.empty()) return;
  for_tools_.emplace(ChatTemplate::from_gguf(header, vocabulary, true), for_tools);
}

Status ChatLayout::check() const {
  if (usual_.program.ok()) return {};
  return usual_.program.error();
}

Result<ChatText> ChatLayout::lay_out(Json variables, const Json& tools,
                                     const Cancellation& cancellation) const {
  const Side& chosen = side(!tools.empty());
  if (!chosen.program.ok()) return chosen.program.error();
  if (Json* messages = variables.find("messages")) {
    KINGLET_ASSIGN(*messages,
                   in_dialect(std::move(*messages), tools, chosen.dialect, cancellation));
  }
  if (chosen.dialect.knows_tools && !tools.empty()) variables["tools"] = tools;
  if (chosen.reads_parts) variables = with_parts(std::move(variables));
  return render(chosen.program.value(), variables, cancellation);
}

}  // namespace kinglet
