#include "wasm/api.h"

#include <emscripten/bind.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "base/percent.h"
#include "chat/conversation_prompt.h"
#include "json/json.h"
#include "openai/messages.h"

namespace kinglet {
namespace {

using openai::ApiError;
using openai::ApiResult;
using openai::Asked;
using openai::EncodingWork;
using openai::ServedModel;
using openai::TextAnswer;

// `event`: the error in a stream.
val refused(const ApiError& error, const std::string& event = "") {
  val fields = val::object();
  set(fields, "status", error.status);
  set(fields, "body", openai::to_json(error));
  set(fields, "event", event);
  val result = val::object();
  set(result, "refusal", fields);
  return result;
}

val event_of(const std::string& events, bool is_last) {
  val fields = val::object();
  set(fields, "events", events);
  set(fields, "isLast", is_last);
  return fields;
}

// Fails if memory has no room for what is made of a large JSON text, about: without exceptions, a
// small allocation that fails ends the engine. Most of it is for values, whose number the
// punctuation tells: each is several times in memory, for the template as well.
Status check_room(std::string_view json) {
  constexpr size_t kSmall = size_t{1} << 20;
  constexpr uint64_t kTimesText = 10;
  constexpr uint64_t kBytesEach = 250;  // as measured with many short messages
  if (json.size() < kSmall) return {};
  const auto n_marks = static_cast<uint64_t>(std::count_if(json.begin(), json.end(), [](char c) {
    return std::string_view("\"[{,").find(c) != std::string_view::npos;
  }));
  const auto room = AlignedBuffer::allocate(kTimesText * json.size() + kBytesEach * n_marks,
                                            cat("a request of ", json.size() / kSmall, " MiB"));
  return room.ok() ? Status() : room.error();
}

// Any address works that ends as the API's paths do.
std::string_view endpoint_at_end(std::string_view path) {
  std::string_view found;
  for (const std::string_view endpoint : openai::kEndpoints) {
    if (path.ends_with(endpoint) && endpoint.size() > found.size()) found = endpoint;
  }
  return found;
}

// Answers GET …/models and …/models/NAME; nullopt for other addresses.
std::optional<Json> describe(std::string_view path, const ServedModel& model) {
  constexpr std::string_view kModels = "/models";
  if (path.ends_with(kModels)) return model.list();
  constexpr std::string_view kOne = "/models/";
  const size_t at = path.find(kOne);
  if (at == path.npos) return std::nullopt;
  const auto name = percent_decoded(path.substr(at + kOne.size()));
  return name ? std::optional(model.described_as(*name)) : std::nullopt;
}

PictureParts to_parts(const val& list) {
  std::vector<ImagePart> parts;
  for (uint32_t i = 0; i < length(list); ++i) {
    const val fields = list[i];
    ImagePart part{text(get(fields, "text")), {}};
    if (number(fields, "nRows") > 0) part.image = *to_image(fields);
    parts.push_back(std::move(part));
  }
  return std::make_shared<const std::vector<ImagePart>>(std::move(parts));
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

double n_kept(const val& prompt, double n_ctx) {
  return to_number(count_kept({}, to_ids(prompt), from_number<uint32_t>(n_ctx)));
}

}  // namespace

// --- EngineRequest
// --------------------------------------------------------------------------------

val EngineRequest::pictures() const { return to_js(pictures_); }

std::string EngineRequest::answer() const {
  if (const auto* whole = std::get_if<Json>(&asked_)) return print(*whole);
  return text() != nullptr && is_done() ? print(text()->writer().whole()) : "";
}

bool EngineRequest::is_stream() const { return text() != nullptr && text()->is_stream(); }

bool EngineRequest::is_done() const {
  return !is_encoding() && (text() == nullptr || text()->is_done());
}

// The answer takes the place of what was asked.
void EngineRequest::encode(double id, const val& on_event) {
  auto& work = std::get<EncodingWork>(asked_);
  runner_->submit(EncodingJob{.encoding = std::exchange(work.encoding, {}),
                              .cancellation = to_cancellation(id),
                              .deliver = [this, on_event](const Result<Rows>& rows) {
                                if (rows.ok())
                                  asked_ = std::get<EncodingWork>(asked_).answer(rows.value());
                                on_event(rows.ok() ? success(event_of("", /*is_last=*/true))
                                                   : refused(openai::api_error(rows.error())));
                              }});
}

void EngineRequest::begin_choice(EngineSession& session, double id, const val& on_event) {
  openai::ChoiceWork work = text()->begin_choice(waiting_);
  work.options.cancellation = to_cancellation(id);
  session.submit(
      {.prompt = work.prompt.tokens,
       .options = std::move(work.options),
       .plan = work.plan,
       .deliver = [this, on_event](const Result<AnswerEvent>& event) { on_event(read(event)); }});
}

// An error of a choice's first step comes before all its events.
val EngineRequest::read(const Result<AnswerEvent>& event) {
  if (!event.ok()) {
    const ApiError told = openai::api_error(event.error());
    return refused(told, text()->writer().error_event(told));
  }
  text()->read(event.value(), waiting_);
  return success(event_of(events(std::exchange(waiting_, {})), event.value().is_last()));
}

std::string EngineRequest::last_events() const {
  return is_stream() ? text()->writer().last_events() : "";
}

std::string EngineRequest::events(const std::vector<Json>& chunks) const {
  std::string events;
  if (!is_stream()) return events;
  for (const Json& chunk : chunks) events += text()->writer().event(chunk);
  return events;
}

// --- EngineApi
// ------------------------------------------------------------------------------------

EngineApi::EngineApi(std::shared_ptr<const LanguageModel> loaded, std::shared_ptr<Runner> runner,
                     std::string name, const std::string& chat_template)
    : loaded_(std::move(loaded)),
      runner_(std::move(runner)),
      name_(std::move(name)),
      layout_(loaded_->model.header(), loaded_->tokenizer->vocabulary(), chat_template) {
  recommended_sampling(loaded_->model.header()).apply_to(sampling_);
}

// What JavaScript says of a conversation, beside its messages.
struct EngineApi::Variables {
  Json variables;
  bool has_tools;
  bool is_request;  // messages and tools are those of a request of OpenAI's API
  bool trusts_content;
  std::string said_last;  // a text after the conversation, as if a message said it
  Cancellation cancellation;

  static Result<Variables> from(const val& conversation) {
    const Cancellation cancellation = to_cancellation(number(conversation, "id"));
    const std::string given = text(get(conversation, "variables"));
    KINGLET_TRY(check_room(given));
    KINGLET_ASSIGN(Json variables, parse_json(given, {.cancellation = cancellation}));
    const Json tools = variables["tools"].is_array() ? variables["tools"] : Json::array();
    const std::string choice = text(get(conversation, "toolChoice"));
    KINGLET_ASSIGN(openai::ChosenTools chosen, choose_tools(tools, choice));
    const bool has_tools = !chosen.tools.empty();
    if (!choice.empty()) variables["tools"] = std::move(chosen.tools);
    return Variables{.variables = std::move(variables),
                     .has_tools = has_tools,
                     .is_request = number(conversation, "isRequest") != 0,
                     .trusts_content = number(conversation, "trustContent") != 0,
                     .said_last = text(get(conversation, "saidLast")),
                     .cancellation = cancellation};
  }
};

Result<ChatText> EngineApi::lay_out(const Json& messages, const Variables& given) const {
  Json variables = given.variables;
  bool has_tools = given.has_tools;
  variables["messages"] = messages;
  if (given.is_request) {
    const Json tools = variables["tools"].is_array() ? variables["tools"] : Json::array();
    auto converted = openai::template_messages(messages, tools, layout_.knows_tools(),
                                               {.cancellation = given.cancellation});
    if (given.cancellation.requested()) return Error{ErrorCode::cancelled, "cancelled"};
    if (!converted.ok()) return Error{ErrorCode::invalid_argument, converted.error().message};
    variables["messages"] = std::move(converted.value());
    has_tools = has_tools && layout_.knows_tools();
    if (!has_tools) variables.erase("tools");
  }
  KINGLET_ASSIGN(ChatText chat, layout_.lay_out(variables, has_tools, given.cancellation));
  if (!given.said_last.empty()) {
    chat.said.push_back({chat.text.size(), chat.text.size() + given.said_last.size()});
    chat.text += given.said_last;
  }
  if (given.trusts_content) chat.said.clear();
  return chat;
}

val EngineApi::lay_out(const val& conversation) const {
  const auto given = Variables::from(conversation);
  if (!given.ok()) return failure(given.error());
  const auto chat = lay_out(given.value().variables["messages"], given.value());
  return chat.ok() ? success(texts_of(chat.value())) : failure(chat.error());
}

val EngineApi::make_prompt(const val& request) const {
  const auto given = Variables::from(request);
  if (!given.ok()) return failure(given.error());
  ChatMessages messages{.list = given.value().variables["messages"],
                        .picture_mark = text(get(request, "pictureMark"))};
  const val pictures = get(request, "pictures");
  for (uint32_t i = 0; i < length(pictures); ++i) {
    messages.pictures.push_back(*to_parts(pictures[i]));
  }
  const auto lay_out_some = [&](const Json& list) { return lay_out(list, given.value()); };
  const auto made = kinglet::make_prompt(
      messages, lay_out_some, *loaded_->tokenizer,
      {.on_full = find_on_full(text(get(request, "onFull"))).value_or(OnFull::error),
       .n_ctx = from_number<uint32_t>(number(request, "nCtx")),
       .max_tokens = from_number<uint32_t>(number(request, "maxTokens")),
       .add_bos = number(request, "addBos") != 0,
       .prefix = to_ids(get(request, "prefix")),
       .cancellation = given.value().cancellation});
  if (!made.ok()) return failure(made.error());
  const ConversationPrompt& prompt = made.value();
  val fields = val::object();
  set(fields, "tokens", to_js_ids(prompt.tokens));
  set(fields, "end", prompt.end);
  set(fields, "nDropped", to_number(prompt.n_dropped));
  set(fields, "nKept", prompt.n_kept ? to_number(*prompt.n_kept) : -1);
  return success(fields);
}

val EngineApi::new_answer(const val& request) const {
  const auto tools = parse_json(text(get(request, "tools")), {.depth = kMostSchemaLevels});
  if (!tools.ok()) return failure(tools.error());
  const auto chosen = choose_tools(tools.value(), text(get(request, "toolChoice")));
  if (!chosen.ok()) return failure(chosen.error());
  const AnswerFormat& format = layout_.answer_format(!chosen.value().tools.empty());
  return kinglet::new_answer(request, chosen.value(), format, *loaded_->tokenizer);
}

val EngineApi::read(const val& request) const {
  const ServedModel model(*loaded_, layout_,
                          {.name = name_,
                           .n_ctx = from_number<uint32_t>(number(request, "nCtx")),
                           .sampling = sampling_,
                           .trusts_content = number(request, "trustContent") != 0});
  const val pictures = get(request, "pictures");
  std::vector<std::string> missing;
  uint32_t n_seen = 0;
  const openai::Look look = [&](const std::string& url) -> ApiResult<PictureParts> {
    if (n_seen < length(pictures)) return to_parts(pictures[n_seen++]);
    missing.push_back(url);
    return std::make_shared<const std::vector<ImagePart>>();
  };
  const openai::Patience patience{.cancellation = to_cancellation(number(request, "id"))};
  const auto asked = [&]() -> ApiResult<Asked> {
    const std::string method = text(get(request, "method"));
    const std::string path = text(get(request, "path"));
    const std::string_view endpoint = endpoint_at_end(path);
    if (method == "POST" && !endpoint.empty()) {
      const std::string given = text(get(request, "body"));
      KINGLET_TRY(check_room(given));
      KINGLET_ASSIGN(const Json body, openai::read_body(given, patience));
      return openai::read_request(endpoint, body, model, look, patience);
    }
    auto described = method == "GET" ? describe(path, model) : std::nullopt;
    if (described) return Asked(std::move(*described));
    return openai::nothing_at(method, path);
  };
  auto read = asked();
  if (!read.ok()) return refused(read.error());
  return success(val(std::make_shared<EngineRequest>(loaded_, runner_, std::move(read.value()),
                                                     std::move(missing))));
}

EMSCRIPTEN_BINDINGS(kinglet_api) {
  using namespace emscripten;

  class_<EngineRequest>("EngineRequest")
      .smart_ptr<std::shared_ptr<EngineRequest>>("EngineRequest")
      .function("pictures", &EngineRequest::pictures)
      .function("answer", &EngineRequest::answer)
      .function("isEncoding", &EngineRequest::is_encoding)
      .function("encode", &EngineRequest::encode)
      .function("isStream", &EngineRequest::is_stream)
      .function("isDone", &EngineRequest::is_done)
      .function("beginChoice", &EngineRequest::begin_choice)
      .function("lastEvents", &EngineRequest::last_events);
  class_<EngineApi>("EngineApi")
      .smart_ptr<std::shared_ptr<EngineApi>>("EngineApi")
      .function("check", &EngineApi::check)
      .function("layOut", select_overload<val(const val&) const>(&EngineApi::lay_out))
      .function("makePrompt", &EngineApi::make_prompt)
      .function("newAnswer", &EngineApi::new_answer)
      .function("read", &EngineApi::read);

  function("countKept", &n_kept);
}

}  // namespace kinglet
