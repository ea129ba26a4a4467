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

// Returns a field that is JSON; nullopt if it is empty.
Result<std::optional<Json>> json_field(const val& request, const char* name) {
  const std::string given = text(get(request, name));
  if (given.empty()) return std::optional<Json>();
  KINGLET_ASSIGN(Json json, parse_json(given, {.depth = kMostSchemaLevels}));
  return std::optional(std::move(json));
}

Result<AnswerPlan> plan(const val& request, const openai::ChosenTools& tools,
                        const AnswerFormat& format, const Tokenizer& tokenizer) {
  KINGLET_ASSIGN(const std::optional<Json> schema, json_field(request, "schema"));
  const std::string grammar = text(get(request, "grammar"));
  AnswerDemands demands{.tools = tools.tools,
                        .must_call = tools.is_forced,
                        .may_call_several = !tools.is_named,
                        .schema = schema ? &*schema : nullptr,
                        .indent = from_number<size_t>(number(request, "indent")),
                        .open_objects = number(request, "openObjects") != 0,
                        .grammar = grammar,
                        .cancellation = to_cancellation(number(request, "id"))};
  const double n_thinking = number(request, "maxThinkingTokens");
  if (n_thinking >= 0) demands.n_thinking_most = from_number<uint32_t>(n_thinking);
  return plan_answer(format, demands, text(get(request, "prompt")), text(get(request, "prefix")),
                     tokenizer);
}

}  // namespace

Result<openai::ChosenTools> choose_tools(const Json& tools, const std::string& choice) {
  if (choice.empty()) return openai::ChosenTools{.tools = tools};
  KINGLET_ASSIGN(Json parsed, parse_json(choice));
  const Json body = {{"tools", tools}, {"tool_choice", std::move(parsed)}};
  openai::Fields fields(body);
  auto chosen = openai::read_tools(fields);
  if (chosen.ok()) return std::move(chosen.value());
  return Error{ErrorCode::invalid_argument, chosen.error().message};
}

val new_answer(const val& request, const openai::ChosenTools& tools, const AnswerFormat& format,
               const Tokenizer& tokenizer) {
  auto planned = plan(request, tools, format, tokenizer);
  if (!planned.ok()) return failure(planned.error());
  return success(val(std::make_shared<EngineAnswer>(std::move(planned.value()))));
}

val to_js(const AnswerEvent& event) {
  const AnswerCounts& counts = event.counts;
  val fields = val::object();
  set(fields, "nPromptDone", counts.n_prompt_done);
  set(fields, "nCached", counts.n_cached);
  set(fields, "nGenerated", counts.n_generated);
  set(fields, "nGuessed", counts.n_guessed);
  set(fields, "nAccepted", counts.n_accepted);
  set(fields, "nDropped", counts.n_dropped);
  set(fields, "promptMs", counts.prompt_seconds * 1000);
  set(fields, "decodeMs", counts.decode_seconds * 1000);
  set(fields, "text", event.added.text);
  set(fields, "reasoning", event.added.thought);
  val calls = val::array();
  for (const CallDelta& call : event.added.calls) {
    val one = val::object();
    set(one, "index", to_number(call.index));
    if (call.name) {
      set(one, "id", call.id);
      set(one, "name", *call.name);
    }
    set(one, "arguments", call.arguments);
    calls.call<void>("push", one);
  }
  set(fields, "toolCalls", calls);
  set(fields, "token", event.token.token);
  set(fields, "logprob", event.token.logprob.value_or(0));
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;
  for (const Candidate& candidate : event.token.top) {
    tokens.push_back(candidate.token);
    logprobs.push_back(candidate.weight);
  }
  set(fields, "topTokens", to_js_ids(tokens));
  set(fields, "topLogprobs", to_js_floats(logprobs));
  set(fields, "finishReason", finish_reason_name(event.finish));
  set(fields, "isLast", event.is_last());
  return fields;
}

EMSCRIPTEN_BINDINGS(kinglet_answer) {
  emscripten::class_<EngineAnswer>("EngineAnswer")
      .smart_ptr<std::shared_ptr<EngineAnswer>>("EngineAnswer")
      .function("warnings", &EngineAnswer::warnings);
}

}  // namespace kinglet
