// Lays out conversations. engine.d.ts describes what is bound here.
#include <emscripten/bind.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "json/json.h"
#include "text/chat_template.h"
#include "wasm/values.h"

namespace kinglet {
namespace {

jinja::Now local_time() {
  const val date = val::global("Date").new_();
  const auto read = [&](const char* getter) { return date.call<int>(getter); };
  return {read("getFullYear"), read("getMonth") + 1, read("getDate"),
          read("getHours"),    read("getMinutes"),   read("getSeconds")};
}

// The texts of the template and of the messages in turn; the first is the template's.
val texts_of(const ChatText& chat) {
  val texts = val::array();
  size_t at = 0;
  const auto add = [&](size_t end) {
    texts.call<void>("push", chat.text.substr(at, end - at));
    at = end;
  };
  for (const TextRange& said : chat.said) {
    add(said.begin);
    add(said.end);
  }
  if (at < chat.text.size()) add(chat.text.size());
  return texts;
}

val lay_out(const val& request) {
  const auto chat = ChatTemplate::parse(text(get(request, "template")), text(get(request, "bos")),
                                        text(get(request, "eos")));
  if (!chat.ok()) return failure(chat.error());
  const std::string variables = text(get(request, "variables"));
  if (variables.empty()) return success(val::array());
  const auto parsed = parse_json(variables);
  if (!parsed.ok()) return failure(parsed.error());
  auto given = chat_variables(parsed.value());
  if (!given.ok()) return failure(given.error());
  const auto laid_out = chat.value().render(std::move(given.value()), local_time());
  return laid_out.ok() ? success(texts_of(laid_out.value())) : failure(laid_out.error());
}

}  // namespace

EMSCRIPTEN_BINDINGS(kinglet_chat) { emscripten::function("layOut", &lay_out); }

}  // namespace kinglet
