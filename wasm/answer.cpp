#include "wasm/answer.h"

#include <emscripten/bind.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "json/json.h"

namespace kinglet {
namespace {

// More than any schema may have: the compiler then says so in the schema's terms.
constexpr size_t kMostLevels = 1000;

// Returns a field that is JSON; nullopt if it is empty.
Result<std::optional<Json>> json_field(const val& request, const char* name) {
  const std::string given = text(get(request, name));
  if (given.empty()) return std::optional<Json>();
  KINGLET_ASSIGN(Json json, parse_json(given, {.depth = kMostLevels}));
  return std::optional(std::move(json));
}

Result<AnswerPlan> plan(const val& request, const AnswerFormat& format,
                        const Tokenizer& tokenizer) {
  KINGLET_ASSIGN(std::optional<Json> tools, json_field(request, "tools"));
  KINGLET_ASSIGN(const std::optional<Json> schema, json_field(request, "schema"));
  const std::string grammar = text(get(request, "grammar"));
  AnswerDemands demands{.schema = schema ? &*schema : nullptr,
                        .indent = from_number<size_t>(number(request, "indent")),
                        .open_objects = number(request, "openObjects") != 0,
                        .grammar = grammar,
                        .cancellation = to_cancellation(number(request, "id"))};
  if (tools) demands.tools = std::move(*tools);
  const double n_thinking = number(request, "maxThinkingTokens");
  if (n_thinking >= 0) demands.n_thinking_most = from_number<uint32_t>(n_thinking);
  return plan_answer(format, demands, text(get(request, "prompt")), text(get(request, "prefix")),
                     tokenizer);
}

}  // namespace

val EngineAnswer::warnings() const { return to_js(plan_.warnings); }

AnswerDelta EngineAnswer::push(std::string text, bool is_last) {
  if (!answer_) return {.text = std::move(text), .thought = {}, .calls = {}};
  AnswerDelta delta = answer_->push(text);
  if (is_last) delta += answer_->end();
  return delta;
}

val EngineAnswer::read(const std::string& text, bool is_last) {
  val fields = val::object();
  set_delta(fields, push(text, is_last));
  return fields;
}

void set_delta(val& fields, const AnswerDelta& delta) {
  set(fields, "text", delta.text);
  set(fields, "reasoning", delta.thought);
  val calls = val::array();
  for (const CallDelta& call : delta.calls) {
    val one = val::object();
    set(one, "index", to_number(call.index));
    if (call.name) set(one, "name", *call.name);
    set(one, "arguments", call.arguments);
    calls.call<void>("push", one);
  }
  set(fields, "toolCalls", calls);
}

val new_answer(const val& request, const AnswerFormat& format, const Tokenizer& tokenizer) {
  auto planned = plan(request, format, tokenizer);
  if (!planned.ok()) return failure(planned.error());
  const bool is_divided = number(request, "isDivided") != 0;
  return success(val(std::make_shared<EngineAnswer>(std::move(planned.value()), is_divided)));
}

EMSCRIPTEN_BINDINGS(kinglet_answer) {
  emscripten::class_<EngineAnswer>("EngineAnswer")
      .smart_ptr<std::shared_ptr<EngineAnswer>>("EngineAnswer")
      .function("warnings", &EngineAnswer::warnings)
      .function("read", &EngineAnswer::read);
}

}  // namespace kinglet
