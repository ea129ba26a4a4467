#include "wasm/api.h"

#include <emscripten/bind.h>

#include <optional>
#include <string_view>
#include <utility>

#include "base/percent.h"
#include "json/json.h"

namespace kinglet {
namespace {

using openai::ApiError;
using openai::ApiResult;
using openai::ApiStatus;
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

// Returns the refusal of a request that an error of the page around the engine ended.
val refusal_of(const std::string& code, const std::string& message) {
  return get(refused(openai::api_error(code, message)), "refusal");
}

val event_of(const std::string& events, bool is_last) {
  val fields = val::object();
  set(fields, "events", events);
  set(fields, "isLast", is_last);
  return fields;
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

}  // namespace

ApiStatus EngineRequest::begin(const std::string& method, const std::string& path,
                               const std::string& body) {
  endpoint_ = endpoint_at_end(path);
  if (method == "POST" && !endpoint_.empty()) {
    KINGLET_TRY(check_room(body));
    KINGLET_ASSIGN(body_, openai::read_body(body, {.cancellation = cancellation_}));
    return read();
  }
  auto described = method == "GET" ? describe(path, served_) : std::nullopt;
  if (!described) return openai::nothing_at(method, path);
  asked_ = std::move(*described);
  return {};
}

ApiStatus EngineRequest::read() {
  const openai::ReadPictures read_pictures =
      [&](const std::vector<std::string>& urls) -> ApiResult<PartsOfPictures> {
    urls_ = urls;
    if (waits_for_pictures()) return openai::invalid("the pictures must be read first");
    return pictures_;
  };
  KINGLET_ASSIGN(asked_, openai::read_request(endpoint_, body_, served_, read_pictures,
                                              {.cancellation = cancellation_}));
  return {};
}

val EngineRequest::read(const val& pictures) {
  pictures_ = to_pictures(pictures);
  const ApiStatus status = read();
  return status.ok() ? success(val::null()) : refused(status.error());
}

val EngineRequest::missing_pictures(const EngineSession& session) const {
  const std::vector<uint32_t> found =
      session.missing(text()->request().prompts.front().tokens, pictures_);
  return to_js_array<uint32_t>("Uint32Array", found);
}

val EngineRequest::stored_prompt(const EngineSession& session) const {
  return session.stored_prompt(text()->request().prompts.front().tokens);
}

std::string EngineRequest::answer() const {
  if (const auto* whole = std::get_if<Json>(&asked_)) return print(*whole);
  return text() != nullptr && is_done() ? print(text()->writer().whole()) : "";
}

bool EngineRequest::is_done() const {
  return !is_encoding() && (text() == nullptr || text()->is_done());
}

// The answer takes the place of what was asked.
void EngineRequest::encode(double id, const val& on_event) {
  auto& work = std::get<EncodingWork>(asked_);
  model_.runner->submit(
      EncodingJob{.encoding = std::exchange(work.encoding, {}),
                  .cancellation = to_cancellation(id),
                  .deliver = [this, on_event](const Result<Rows>& rows) {
                    if (rows.ok()) asked_ = std::get<EncodingWork>(asked_).answer(rows.value());
                    on_event(rows.ok() ? success(event_of("", /*is_last=*/true))
                                       : refused(openai::api_error(rows.error())));
                  }});
}

void EngineRequest::begin_choice(EngineSession& session, double id, const val& on_event) {
  openai::ChoiceWork work = text()->begin_choice(waiting_);
  work.options.cancellation = to_cancellation(id);
  session.submit({.prompt = work.prompt.tokens,
                  .options = std::move(work.options),
                  .plan = work.plan,
                  .deliver = [this, on_event](const Result<AnswerEvent>& event) {
                    on_event(read_event(event));
                  }});
}

// An error of a choice's first step comes before all its events.
val EngineRequest::read_event(const Result<AnswerEvent>& event) {
  if (!event.ok()) {
    const ApiError error = openai::api_error(event.error());
    return refused(error, text()->writer().error_event(error));
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

val new_request(ApiModel model, const val& request) {
  SamplerOptions sampling;
  recommended_sampling(model.loaded->model.header()).apply_to(sampling);
  openai::ServedOptions options{.name = model.name,
                                .n_ctx = from_number<uint32_t>(number(request, "nCtx")),
                                .sampling = sampling,
                                .trusts_content = number(request, "trustContent") != 0,
                                .caches_prompts = model.runner->cache()->is_writable()};
  const auto made = std::make_shared<EngineRequest>(std::move(model), std::move(options),
                                                    to_cancellation(number(request, "id")));
  const ApiStatus status = made->begin(text(get(request, "method")), text(get(request, "path")),
                                       text(get(request, "body")));
  if (!status.ok() && !made->waits_for_pictures()) return refused(status.error());
  return success(val(made));
}

EMSCRIPTEN_BINDINGS(kinglet_api) {
  using namespace emscripten;

  function("refusalOf", &refusal_of);

  class_<EngineRequest>("EngineRequest")
      .smart_ptr<std::shared_ptr<EngineRequest>>("EngineRequest")
      .function("pictures", &EngineRequest::pictures)
      .function("read", select_overload<val(const val&)>(&EngineRequest::read))
      .function("missingPictures", &EngineRequest::missing_pictures)
      .function("storedPrompt", &EngineRequest::stored_prompt)
      .function("answer", &EngineRequest::answer)
      .function("isEncoding", &EngineRequest::is_encoding)
      .function("encode", &EngineRequest::encode)
      .function("isStream", &EngineRequest::is_stream)
      .function("isDone", &EngineRequest::is_done)
      .function("beginChoice", &EngineRequest::begin_choice)
      .function("lastEvents", &EngineRequest::last_events);
}

}  // namespace kinglet
