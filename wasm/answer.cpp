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
constexpr size_t kMostSchemaLevels = 1000;

// Returns a field that is JSON; nullopt if it is empty.
Result<std::optional<Json>> json_field(const val& request, const char* name,
                                       const Cancellation& cancellation) {
  const std::string given = text(get(request, name));
  if (given.empty()) return std::optional<Json>();
  KINGLET_ASSIGN(Json json,
                 parse_json(given, {.depth = kMostSchemaLevels, .cancellation = cancellation}));
  return std::optional(std::move(json));
}

Result<AnswerPlan> plan(const val& request, const ReadPrompt& read, const AnswerFormat& format,
                        const Tokenizer& tokenizer) {
  const Cancellation cancellation = to_cancellation(number(get(request, "prompt"), "id"));
  KINGLET_ASSIGN(const std::optional<Json> schema, json_field(request, "jsonSchema", cancellation));
  const std::string grammar = text(get(request, "grammar"));
  AnswerDemands demands{.tools = read.tools.tools,
                        .must_call = read.tools.is_forced,
                        .may_call_several = !read.tools.is_named,
                        .schema = schema ? &*schema : nullptr,
                        .indent = from_number<size_t>(number(request, "indent")),
                        .open_objects = number(request, "openObjects") != 0,
                        .grammar = grammar,
                        .cancellation = cancellation};
  const double n_thinking = number(request, "maxThinkingTokens");
  if (n_thinking >= 0) demands.n_thinking_most = from_number<uint32_t>(n_thinking);
  return plan_answer(format, demands, read.prompt.end, read.prefix, tokenizer);
}

}  // namespace

EngineAnswer::EngineAnswer(ReadPrompt prompt, AnswerPlan plan)
    : prompt_(std::move(prompt.prompt)),
      pictures_(std::move(prompt.pictures)),
      plan_(std::move(plan)),
      message_{{"role", "assistant"}, {"content", prompt.prefix}} {}

val new_answer(const val& request, ReadPrompt prompt, const AnswerFormat& format,
               const Tokenizer& tokenizer) {
  auto planned = plan(request, prompt, format, tokenizer);
  if (!planned.ok()) return failure(planned.error());
  return success(
      val(std::make_shared<EngineAnswer>(std::move(prompt), std::move(planned.value()))));
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
      .function("warnings", &EngineAnswer::warnings)
      .function("nDropped", &EngineAnswer::n_dropped)
      .function("message", &EngineAnswer::message);
}

}  // namespace kinglet
