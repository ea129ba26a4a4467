// Lays out conversations. This is a separate module, which pages without chats need not download.
// Strings are passed as bytes in its memory, so that it needs no glue code.
#include <emscripten.h>

#include <string>
#include <string_view>

#include "base/json_escape.h"
#include "text/chat_template.h"
#include "text/utf8.h"

namespace kinglet {
namespace {

std::string request;
std::string answer;

void append_string(std::string_view text) {
  answer += '"';
  append_json_escaped(answer, replace_ill_formed(text));
  answer += '"';
}

void answer_error(const Error& error) {
  answer = "{\"error\":{\"code\":";
  append_string(error_code_name(error.code));
  answer += ",\"message\":";
  append_string(error.message);
  answer += "}}";
}

// Writes the texts of the template and of the messages in turn; the first is the template's.
void answer_texts(const ChatText& chat) {
  answer = "{\"value\":[";
  size_t at = 0;
  const auto add = [&](size_t end) {
    if (at > 0 || answer.back() != '[') answer += ',';
    append_string(std::string_view(chat.text).substr(at, end - at));
    at = end;
  };
  for (const TextRange& said : chat.said) {
    add(said.begin);
    add(said.end);
  }
  if (at < chat.text.size()) add(chat.text.size());
  answer += "]}";
}

Result<ChatText> lay_out(std::string_view source, std::string_view bos, std::string_view eos,
                         std::string_view variables, const jinja::Now& now) {
  KINGLET_ASSIGN(const ChatTemplate chat, ChatTemplate::parse(source, bos, eos));
  if (variables.empty()) return ChatText{};
  KINGLET_ASSIGN(jinja::Dict given, chat_variables(variables));
  return chat.render(std::move(given), now);
}

}  // namespace
}  // namespace kinglet

extern "C" {

// Returns memory for a request, which must be written before the call that reads it.
EMSCRIPTEN_KEEPALIVE char* reserve(size_t n_bytes) {
  kinglet::request.resize(n_bytes);
  return kinglet::request.data();
}

// Answers a request, which contains, one after the other, a template, the texts of the vocabulary's
// begin and end tokens, and the variables as JSON. Without variables, the template is only parsed.
// Returns the size of the answer: JSON, { value: string[] } or { error: { code, message } }.
EMSCRIPTEN_KEEPALIVE size_t lay_out(size_t n_source, size_t n_bos, size_t n_eos, int year,
                                    int month, int day, int hour, int minute, int second) {
  std::string_view rest = kinglet::request;
  const auto take = [&](size_t n) {
    const std::string_view taken = rest.substr(0, n);
    rest.remove_prefix(taken.size());
    return taken;
  };
  const std::string_view source = take(n_source);
  const std::string_view bos = take(n_bos);
  const std::string_view eos = take(n_eos);
  const auto chat =
      kinglet::lay_out(source, bos, eos, rest, {year, month, day, hour, minute, second});
  if (chat.ok()) {
    kinglet::answer_texts(chat.value());
  } else {
    kinglet::answer_error(chat.error());
  }
  return kinglet::answer.size();
}

EMSCRIPTEN_KEEPALIVE const char* answer() { return kinglet::answer.data(); }

}  // extern "C"
