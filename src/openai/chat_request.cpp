#include <optional>
#include <utility>

#include "base/format.h"
#include "chat/conversation_prompt.h"
#include "openai/generation_request.h"
#include "openai/messages.h"
#include "openai/picture_parts.h"
#include "openai/shared_fields.h"
#include "openai/tools.h"

namespace kinglet::openai {
namespace {

// Reads the variables of the template other than messages and tools.
ApiResult<Json> read_variables(Fields& fields) {
  std::string effort;
  KINGLET_TRY(fields.take("reasoning_effort", effort));
  fields.ignore_if("add_generation_prompt", {true});
  fields.ignore_if("continue_final_message", {false});
  KINGLET_ASSIGN(const Json* given, fields.take_object("chat_template_kwargs"));
  Json variables = given == nullptr ? Json::object() : *given;
  const auto set_missing = [&](std::string_view name, bool value) {
    if (!variables.contains(name)) variables[name] = value;
  };
  set_missing("add_generation_prompt", true);
  if (effort == "none") set_missing("enable_thinking", false);
  return variables;
}

ApiStatus read_limits(Fields& fields, const ServedModel& model, GenerationRequest& request) {
  std::optional<int64_t> max_tokens = model.n_ctx();
  KINGLET_TRY(fields.take("max_tokens", max_tokens, 1, UINT32_MAX));
  KINGLET_TRY(fields.take("max_completion_tokens", max_tokens, 1, UINT32_MAX));
  fields.ignore_if("echo", {false});
  // Thoughts are given as "reasoning_content".
  fields.ignore_if("reasoning_format", {"auto", "deepseek"});
  request.options.max_tokens = static_cast<uint32_t>(*max_tokens);
  return {};
}

// A named function is called once, unless the client asks for parallel calls.
ApiResult<bool> read_is_parallel(Fields& fields, const ChosenTools& chosen) {
  bool is_parallel = !chosen.is_named;
  KINGLET_TRY(fields.take("parallel_tool_calls", is_parallel));
  return is_parallel;
}

ApiStatus read_logprobs(Fields& fields, GenerationRequest& request) {
  bool is_wanted = false;
  std::optional<int64_t> n_top;
  KINGLET_TRY(fields.take("logprobs", is_wanted));
  KINGLET_TRY(fields.take("top_logprobs", n_top, 0, kMaxLogprobs));
  if (!is_wanted && n_top.value_or(0) > 0) {
    return invalid(cat("top_logprobs is ", *n_top, ", but logprobs is not true"), "top_logprobs");
  }
  if (is_wanted) request.options.n_logprobs = static_cast<uint32_t>(n_top.value_or(0));
  return {};
}

// The JSON schema that an answer must match, if there is one.
struct AnswerSchema {
  std::optional<Json> schema = {};
  bool has_open_objects = false;
};

// {"type": "json_object"}; other servers accept a schema there, too.
ApiStatus read_object_format(Fields& fields, AnswerSchema& answer) {
  const Json* given = fields.find("schema");
  KINGLET_TRY(fields.take("open_objects", answer.has_open_objects));
  KINGLET_TRY(fields.check_all_known());
  answer.schema = given == nullptr ? Json{{"type", "object"}} : *given;
  return {};
}

ApiStatus read_json_schema(const Json& given, AnswerSchema& answer) {
  Fields fields(given, "response_format.json_schema");
  std::string text;
  bool is_strict = false;
  KINGLET_TRY(fields.take("name", text));
  KINGLET_TRY(fields.take("description", text));
  KINGLET_TRY(fields.take("strict", is_strict));
  KINGLET_TRY(fields.take("open_objects", answer.has_open_objects));
  const Json* inner = fields.find("schema");
  KINGLET_TRY(fields.check_all_known());
  answer.schema = inner == nullptr ? Json::object() : *inner;
  return {};
}

// {"type": "text" | "json_object" | "json_schema", "json_schema": {"schema": …, "open_objects": …}}
ApiStatus read_response_format(Fields& fields, AnswerSchema& answer) {
  KINGLET_ASSIGN(const Json* format, fields.take_object("response_format"));
  if (format == nullptr) return {};
  Fields given(*format, "response_format");
  std::string type;
  KINGLET_TRY(given.take("type", type));
  if (type == "text") return given.check_all_known();
  if (type == "json_object") return read_object_format(given, answer);
  KINGLET_ASSIGN(const Json* json_schema, given.take_object("json_schema"));
  if (type != "json_schema") {
    return invalid(cat("the response_format ", print(type),
                       " is not supported: expected \"text\", \"json_object\" or \"json_schema\""),
                   "response_format");
  }
  if (json_schema == nullptr) {
    return invalid(R"(the response_format "json_schema" needs "json_schema": {"schema": …})",
                   "response_format");
  }
  KINGLET_TRY(given.check_all_known());
  return read_json_schema(*json_schema, answer);
}

// Decides how the answer is constrained and read.
ApiStatus plan(const ChosenTools& chosen, bool is_parallel, const AnswerSchema& answer_schema,
               const std::string& grammar, std::optional<int64_t> n_thinking,
               std::string_view prompt_end, const ServedModel& model, const Deadline& deadline,
               GenerationRequest& request) {
  AnswerDemands demands{.tools = chosen.tools,
                        .must_call = chosen.is_forced,
                        .may_call_several = is_parallel,
                        .schema = answer_schema.schema ? &*answer_schema.schema : nullptr,
                        .open_objects = answer_schema.has_open_objects,
                        .grammar = grammar,
                        .cancellation = deadline.cancellation};
  if (n_thinking) demands.n_thinking_most = static_cast<uint32_t>(*n_thinking);
  auto answer = plan_answer(model.answer_format(!chosen.tools.empty()), demands, prompt_end, "",
                            model.tokenizer());
  if (!answer.ok()) {
    return invalid(answer.error().message, chosen.is_forced  ? "tools"
                                           : grammar.empty() ? "response_format"
                                                             : "grammar");
  }
  request.answer = std::move(answer.value());
  request.warnings = request.answer.warnings;
  return {};
}

ApiResult<OnFull> read_on_full(Fields& fields) {
  std::string name = "error";
  KINGLET_TRY(fields.take("on_full", name));
  if (const auto found = find_on_full(name)) return *found;
  return wrong_value("on_full", name, cat("one of ", kOnFullNames));
}

// Returns the messages with the parts of their pictures.
ApiResult<ChatMessages> with_pictures(const Json& given, const ReadPictures& read_pictures) {
  ChatMessages messages{.list = given};
  if (!read_pictures) return messages;
  KINGLET_ASSIGN(GivenPictures pictures, take_pictures(messages.list));
  messages.picture_mark = std::move(pictures.mark);
  if (pictures.urls.empty()) return messages;
  KINGLET_ASSIGN(messages.pictures, read_pictures(pictures.urls));
  return messages;
}

// Lays out some of the messages, with the other variables of the template.
ApiResult<ChatText> lay_out(const Json& list, Json variables, const Json& tools,
                            const ServedModel& model, const Deadline& deadline) {
  KINGLET_TRY(deadline());
  KINGLET_ASSIGN(variables["messages"], read_messages(list, deadline));
  KINGLET_ASSIGN(ChatText laid_out,
                 model.lay_out(std::move(variables), tools, deadline.cancellation));
  KINGLET_TRY(deadline());
  return laid_out;
}

ApiResult<ConversationPrompt> prompt_of(const ChatMessages& messages, const Json& variables,
                                        const Json& tools, const ServedModel& model,
                                        const PromptOptions& options, const Deadline& deadline) {
  std::optional<ApiError> refusal;
  const LayOut lay_out_some = [&](const Json& list) -> Result<ChatText> {
    auto laid_out = lay_out(list, variables, tools, model, deadline);
    if (laid_out.ok()) return std::move(laid_out.value());
    refusal = std::move(laid_out.error());
    return Error{ErrorCode::invalid_argument, refusal->message};
  };
  auto prompt = make_prompt(messages, lay_out_some, model.tokenizer(), options);
  if (prompt.ok()) return std::move(prompt.value());
  return refusal ? *refusal : api_error(prompt.error());
}

// Reads a request whose prompt may be too long.
ApiResult<GenerationRequest> read_unchecked(const Json& body, const ServedModel& model,
                                            const ReadPictures& read_pictures,
                                            const Deadline& deadline) {
  KINGLET_TRY(model.check_makes_text());
  GenerationRequest request;
  Fields fields(body);
  KINGLET_TRY(read_generation_fields(fields, model, request));
  KINGLET_TRY(read_limits(fields, model, request));
  KINGLET_TRY(read_logprobs(fields, request));
  KINGLET_ASSIGN(const ChosenTools chosen, read_tools(fields, deadline));
  KINGLET_ASSIGN(const bool is_parallel, read_is_parallel(fields, chosen));
  AnswerSchema schema;
  KINGLET_TRY(read_response_format(fields, schema));
  std::string grammar;
  KINGLET_TRY(fields.take("grammar", grammar));
  KINGLET_TRY(deadline());
  KINGLET_ASSIGN(const OnFull on_full, read_on_full(fields));
  std::optional<int64_t> n_thinking;  // a field of other servers; OpenAI's API has none
  KINGLET_TRY(fields.take("max_thinking_tokens", n_thinking, 0, UINT32_MAX));
  KINGLET_ASSIGN(const Json variables, read_variables(fields));
  const Json* given = fields.find("messages");
  KINGLET_TRY(fields.check_all_known());
  if (given == nullptr) return invalid("messages are missing", "messages");
  KINGLET_ASSIGN(const ChatMessages messages, with_pictures(*given, read_pictures));
  const PromptOptions options{.on_full = on_full,
                              .n_ctx = model.n_ctx(),
                              .max_tokens = request.options.max_tokens,
                              .counts_opening = model.caches_prompts(),
                              .cancellation = deadline.cancellation};
  KINGLET_ASSIGN(ConversationPrompt prompt,
                 prompt_of(messages, variables, chosen.tools, model, options, deadline));
  request.prompts.push_back({std::move(prompt.tokens), ""});
  prompt.prepare(request.options);
  KINGLET_TRY(deadline());
  KINGLET_TRY(
      plan(chosen, is_parallel, schema, grammar, n_thinking, prompt.end, model, deadline, request));
  return request;
}

}  // namespace

ApiResult<GenerationRequest> read_chat_request(const Json& body, const ServedModel& model,
                                               const ReadPictures& read_pictures,
                                               const Deadline& deadline) {
  KINGLET_ASSIGN(GenerationRequest request, read_unchecked(body, model, read_pictures, deadline));
  KINGLET_TRY(check_options(request, model));
  KINGLET_TRY(check_prompt(request.prompts.front().tokens, model));
  return request;
}

ApiResult<size_t> count_chat_tokens(const Json& body, const ServedModel& model,
                                    const ReadPictures& read_pictures, const Deadline& deadline) {
  KINGLET_ASSIGN(const GenerationRequest request,
                 read_unchecked(body, model, read_pictures, deadline));
  return request.prompts.front().tokens.size();
}

}  // namespace kinglet::openai
