#include <optional>
#include <utility>

#include "base/format.h"
#include "server/call_grammar.h"
#include "server/generation_request.h"
#include "server/json_schema.h"
#include "server/messages.h"
#include "server/picture_parts.h"
#include "server/shared_fields.h"
#include "server/tools.h"
#include "session/image_prompt.h"

namespace kinglet::server {
namespace {

// Reads the variables of the template other than messages and tools.
ApiResult<Json> read_variables(Fields& fields) {
  Json variables = {{"add_generation_prompt", true}};
  std::string effort;
  KINGLET_TRY(fields.take("reasoning_effort", effort));
  if (effort == "none") variables["enable_thinking"] = false;
  KINGLET_ASSIGN(const Json* given, fields.take_object("chat_template_kwargs"));
  if (given == nullptr) return variables;
  for (const auto& [name, value] : given->as_object()) variables[name] = value;
  return variables;
}

ApiStatus read_limits(Fields& fields, const ServedModel& model, ChatRequest& request) {
  std::optional<int64_t> max_tokens = model.n_ctx();
  KINGLET_TRY(fields.take("max_tokens", max_tokens, 1, UINT32_MAX));
  KINGLET_TRY(fields.take("max_completion_tokens", max_tokens, 1, UINT32_MAX));
  request.options.max_tokens = static_cast<uint32_t>(*max_tokens);
  return {};
}

// A named function is called once, unless the client asks for parallel calls.
ApiStatus read_most_calls(Fields& fields, const ChosenTools& chosen, ChatRequest& request) {
  bool is_parallel = !chosen.is_named;
  KINGLET_TRY(fields.take("parallel_tool_calls", is_parallel));
  if (!is_parallel) request.n_calls_most = 1;
  return {};
}

ApiStatus read_logprobs(Fields& fields, ChatRequest& request) {
  bool is_wanted = false;
  std::optional<int64_t> n_top;
  KINGLET_TRY(fields.take("logprobs", is_wanted));
  KINGLET_TRY(fields.take("top_logprobs", n_top, 0, kMaxLogprobs));
  if (is_wanted) request.options.n_logprobs = static_cast<uint32_t>(n_top.value_or(0));
  return {};
}

// Reads a schema that the answer must match.
ApiStatus take_schema(const Json& given, std::optional<SchemaGrammar>& schema) {
  KINGLET_ASSIGN(schema, compile_schema(given));
  return {};
}

// {"type": "json_object"}; other servers accept a schema there, too.
ApiStatus read_object_format(Fields& fields, std::optional<SchemaGrammar>& schema) {
  const Json* given = fields.find("schema");
  KINGLET_TRY(fields.check_all_known());
  return take_schema(given == nullptr ? Json{{"type", "object"}} : *given, schema);
}

ApiStatus read_json_schema(const Json& given, std::optional<SchemaGrammar>& schema) {
  Fields fields(given, "response_format.json_schema");
  std::string text;
  bool is_strict = false;
  KINGLET_TRY(fields.take("name", text));
  KINGLET_TRY(fields.take("description", text));
  KINGLET_TRY(fields.take("strict", is_strict));
  const Json* inner = fields.find("schema");
  KINGLET_TRY(fields.check_all_known());
  return take_schema(inner == nullptr ? Json::object() : *inner, schema);
}

// {"type": "text" | "json_object" | "json_schema", "json_schema": {"schema": …}}
ApiStatus read_response_format(Fields& fields, std::optional<SchemaGrammar>& schema) {
  KINGLET_ASSIGN(const Json* format, fields.take_object("response_format"));
  if (format == nullptr) return {};
  Fields given(*format, "response_format");
  std::string type;
  KINGLET_TRY(given.take("type", type));
  if (type == "text") return given.check_all_known();
  if (type == "json_object") return read_object_format(given, schema);
  KINGLET_ASSIGN(const Json* json_schema, given.take_object("json_schema"));
  if (type != "json_schema" || json_schema == nullptr) {
    return invalid(cat("the response_format ", print(type),
                       " is not supported: expected \"text\", \"json_object\" or \"json_schema\" "
                       "with a json_schema"),
                   "response_format");
  }
  KINGLET_TRY(given.check_all_known());
  return read_json_schema(*json_schema, schema);
}

ApiStatus read_grammar(Fields& fields, ChatRequest& request) {
  std::string grammar;
  KINGLET_TRY(fields.take("grammar", grammar));
  return grammar.empty() ? ApiStatus() : constrain(grammar, request);
}

ApiStatus constrain_to_calls(const Json& tools, const ServedModel& model, ChatRequest& request) {
  const CallRules rules{tools, request.tools, request.format, model.tokenizer(),
                        request.n_calls_most > 1};
  KINGLET_ASSIGN(const std::string grammar, grammar_of_calls(rules, request.prompt_text));
  return constrain(grammar, request);
}

// The answer is JSON, after a thought if the prompt has begun one.
ApiStatus constrain_to_schema(const SchemaGrammar& schema, const ServedModel& model,
                              ChatRequest& request) {
  const std::string grammar =
      grammar_of_answer(schema, request.format, model.tokenizer(), request.prompt_text);
  if (!request.format.is_thinking_after(request.prompt_text)) request.format.thoughts.reset();
  return constrain(grammar, request);
}

// Encodes the text as tokens, with the rows of its pictures.
ApiStatus encode_with_pictures(const ChatText& laid_out, const GivenPictures& pictures,
                               const ServedModel& model, const Look& look, ChatRequest& request) {
  std::vector<std::vector<ImagePart>> parts;
  for (const std::string& file : pictures.files) {
    KINGLET_ASSIGN(const PictureJob::Parts seen, look(file));
    parts.push_back(*seen);
  }
  KINGLET_ASSIGN(ImagePrompt prompt,
                 encode_with_images(model.tokenizer(), laid_out.text, laid_out.said, pictures.mark,
                                    parts, {.parse_special = true}));
  request.prompts.push_back({std::move(prompt.tokens), ""});
  request.options.images = std::move(prompt.images);
  return {};
}

// Renders the conversation as text, and encodes the text as the prompt that the model continues.
ApiStatus lay_out(Json variables, const ChosenTools& chosen, const GivenPictures& pictures,
                  const ServedModel& model, const Look& look, const Patience& patience,
                  ChatRequest& request) {
  const bool tells_tools = !chosen.tools.empty() && model.knows_tools();
  if (tells_tools) variables["tools"] = chosen.tools;
  KINGLET_ASSIGN(ChatText laid_out, model.lay_out(variables, tells_tools));
  KINGLET_TRY(patience());
  if (pictures.files.empty()) {
    request.prompts.push_back(
        {model.tokenizer().encode(laid_out.text, {.parse_special = true}, laid_out.said), ""});
  } else {
    KINGLET_TRY(encode_with_pictures(laid_out, pictures, model, look, request));
  }
  request.prompt_text = std::move(laid_out.text);
  return {};
}

}  // namespace

ApiResult<ChatRequest> read_chat_request(const Json& body, const ServedModel& model,
                                         const Look& look, const Patience& patience) {
  KINGLET_TRY(model.check_makes_text());
  ChatRequest request;
  Fields fields(body);
  KINGLET_TRY(read_generation_fields(fields, model, request));
  KINGLET_TRY(read_limits(fields, model, request));
  KINGLET_TRY(read_logprobs(fields, request));
  KINGLET_ASSIGN(const ChosenTools chosen, read_tools(fields));
  KINGLET_TRY(read_most_calls(fields, chosen, request));
  std::optional<SchemaGrammar> schema;
  KINGLET_TRY(read_response_format(fields, schema));
  KINGLET_TRY(read_grammar(fields, request));
  KINGLET_TRY(patience());
  KINGLET_ASSIGN(Json variables, read_variables(fields));
  const Json* messages = fields.find("messages");
  KINGLET_TRY(fields.check_all_known());
  if (messages == nullptr) return invalid("messages are missing", "messages");
  Json texts = *messages;
  GivenPictures pictures;
  if (look) {
    KINGLET_ASSIGN(pictures, take_pictures(texts));
  }
  KINGLET_ASSIGN(variables["messages"],
                 template_messages(texts, chosen.tools, model.knows_tools()));
  KINGLET_TRY(lay_out(std::move(variables), chosen, pictures, model, look, patience, request));
  KINGLET_TRY(patience());
  request.tools = known_tools(chosen.tools);
  request.format = model.answer_format(!chosen.tools.empty());
  // A client's own grammar is for the whole answer, which then has no thoughts.
  if (request.options.grammar != nullptr) request.format.thoughts.reset();
  if (chosen.is_forced) KINGLET_TRY(constrain_to_calls(chosen.tools, model, request));
  if (schema) KINGLET_TRY(constrain_to_schema(*schema, model, request));
  for (const std::string_view mark : request.format.marks(!request.tools.empty())) {
    request.options.marks.emplace_back(mark);
  }
  KINGLET_TRY(check(request, model));
  return request;
}

}  // namespace kinglet::server
