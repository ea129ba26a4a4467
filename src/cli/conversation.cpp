#include "cli/conversation.h"

#include <cstdio>
#include <utility>

#include "answers/answer_message.h"
#include "base/clock.h"
#include "base/format.h"
#include "cli/input.h"
#include "cli/rate.h"
#include "openai/messages.h"
#include "openai/picture_parts.h"

namespace kinglet::cli {

namespace {

// The program shows the message only.
template <class T>
Error error_of(const openai::ApiResult<T>& result) {
  return {ErrorCode::invalid_argument, result.error().message};
}

// Returns the API's form of --tool-choice.
Json tool_choice(const std::string& given) {
  if (given == "auto" || given == "none" || given == "required") return given;
  return {{"type", "function"}, {"function", {{"name", given}}}};
}

}  // namespace

Result<ChatLayout> choose_layout(const GgufHeader& header, const Vocabulary& vocabulary,
                                 const std::string& format, const std::string& path) {
  std::string source;
  if (!path.empty()) {
    KINGLET_ASSIGN(source, read_filled_file(path));
  } else if (!format.empty()) {
    KINGLET_ASSIGN(source, named_template(format));
  }
  ChatLayout layout(header, vocabulary, source);
  Status status = layout.check();
  if (status.ok()) return layout;
  if (source.empty()) {
    status.error().message += "; choose one with --format NAME or --chat-template FILE";
  }
  return status.error();
}

Json message_of(std::string_view role, std::string_view content) {
  return {{"role", role}, {"content", content}};
}

Json opening(std::string_view system) {
  return system.empty() ? Json::array() : Json::array({message_of("system", system)});
}

Result<Conversation> Conversation::create(Run& run, ChatLayout layout, const ChatOptions& options,
                                          ReadPicture read_picture) {
  Conversation made(run, std::move(layout), options, std::move(read_picture));
  if (!options.tools.empty()) {
    KINGLET_ASSIGN(made.tools_, read_json_file(options.tools));
  }
  if (!options.schema.empty()) {
    KINGLET_ASSIGN(made.schema_, read_json_file(options.schema));
  }
  return made;
}

Conversation::Conversation(Run& run, ChatLayout layout, const ChatOptions& options,
                           ReadPicture read_picture)
    : run_(run),
      layout_(std::move(layout)),
      options_(options),
      read_picture_(std::move(read_picture)),
      messages_(opening(options.system)) {}

Status Conversation::answer(std::string_view message, const std::vector<std::string>& pictures,
                            const AnswerListener& listener, const Cancellation& cancellation) {
  KINGLET_TRY(check_utf8("message", message));
  auto& list = messages_.as_array();
  const size_t n_before = list.size();
  if (const Json* call = waiting_call()) {
    Json result = message_of("tool", message);
    result["tool_call_id"] = (*call)["id"];
    result["name"] = (*call)["function"]["name"];
    list.push_back(std::move(result));
    if (waiting_call() != nullptr) return {};
  } else {
    Json asked = message_of("user", message);
    if (!pictures.empty()) {
      Json parts = Json::array();
      for (const std::string& path : pictures) {
        parts.push_back({{"type", "image_url"}, {"image_url", {{"url", path}}}});
      }
      parts.push_back({{"type", "text"}, {"text", message}});
      asked["content"] = std::move(parts);
    }
    list.push_back(std::move(asked));
  }
  auto answer = generate(listener, cancellation);
  if (!answer.ok()) {
    list.resize(n_before);
    return answer.error();
  }
  list.push_back(std::move(answer.value()));
  return {};
}

// Returns the request for the next answer.
Json Conversation::request() const {
  Json body = options_.request;
  body["messages"] = messages_;
  body["max_tokens"] = options_.generation.max_tokens;
  if (tools_) body["tools"] = *tools_;
  if (!options_.tool_choice.empty()) body["tool_choice"] = tool_choice(options_.tool_choice);
  if (schema_) {
    body["response_format"] = {
        {"type", "json_schema"},
        {"json_schema", {{"schema", *schema_}, {"open_objects", options_.open_objects}}}};
  }
  if (!options_.thinking) body["reasoning_effort"] = "none";
  return body;
}

Result<openai::GenerationRequest> Conversation::read_request(
    const Cancellation& cancellation) const {
  const openai::ServedModel model(run_.loaded, layout_,
                                  {.name = {},
                                   .n_ctx = run_.session->n_ctx(),
                                   .trusts_content = options_.trust_content,
                                   .caches_prompts = run_.cache() != nullptr});
  const openai::ReadPictures read_pictures =
      openai::one_by_one([&](const std::string& path) -> openai::ApiResult<PictureParts> {
        KINGLET_ASSIGN(PictureParts parts, read_picture_(path, cancellation));
        return parts;
      });
  auto read = openai::read_chat_request(request(), model, read_pictures);
  if (!read.ok()) return error_of(read);
  // The program has options of its own for what the API's fields say of sampling.
  GenerationOptions& options = read.value().options;
  options.sampler = options_.generation.sampler;
  options.stop = options_.generation.stop;
  options.n_lookup = options_.generation.n_lookup;
  options.cancellation = cancellation;
  return std::move(read.value());
}

// Returns the answer as a message.
Result<Json> Conversation::generate(const AnswerListener& listener,
                                    const Cancellation& cancellation) {
  const auto begin = Clock::now();
  KINGLET_ASSIGN(const openai::GenerationRequest asked, read_request(cancellation));
  for (const std::string& warning : asked.warnings) listener.on_warning(warning);
  const std::vector<TokenId>& prompt = asked.prompts.front().tokens;
  KINGLET_ASSIGN(Answer answer, Answer::start(*run_.session, *run_.loaded.tokenizer, prompt,
                                              asked.options, asked.answer, run_.cache()));
  Json message = message_of("assistant", "");
  AnswerEvent event;
  while (!event.is_last()) {
    KINGLET_ASSIGN(event, answer.step());
    if (event.counts.n_generated <= 1) {
      listener.on_prompt(event.counts.n_prompt_done, static_cast<uint32_t>(prompt.size()));
    }
    if (event.added.empty()) continue;
    add_to(message, event.added);
    listener.on_added(event.added);
  }
  if (event.finish == FinishReason::context) {
    listener.on_warning(cat("the answer ends here, because the context of ", run_.session->n_ctx(),
                            " tokens is full: --ctx sets its size, --on-full what happens"));
  }
  if (message.contains("tool_calls") && !event.calls_tools) {
    listener.on_warning("the answer ended within a tool call: its calls are left out");
    message.erase("tool_calls");
  }
  if (options_.show_speed) {
    const AnswerCounts& counts = event.counts;
    std::fprintf(stderr,
                 "\nprompt: %zu tokens, %u of them known, %.1f tokens/s; "
                 "answer: %u tokens, %u of them guessed, %.1f tokens/s; %.1f s\n",
                 prompt.size(), counts.n_cached,
                 per_second(prompt.size() - counts.n_cached, counts.prompt_seconds),
                 counts.n_generated, counts.n_accepted,
                 per_second(counts.n_decoded(), counts.decode_seconds), seconds_since(begin));
  }
  return message;
}

Status Conversation::from_json(std::string_view json) {
  KINGLET_ASSIGN(const Json whole, parse_json(json));
  const Json* list = whole.find("messages");
  if (list == nullptr || !list->is_array()) {
    return Error{ErrorCode::invalid_argument, "a conversation needs a list \"messages\""};
  }
  KINGLET_TRY(check_roles(*list));
  if (!list->empty()) {
    Json texts = *list;
    if (const auto taken = openai::take_pictures(texts); !taken.ok()) return error_of(taken);
    const auto read = openai::read_messages(texts);
    if (!read.ok()) return error_of(read);
  }
  messages_ = *list;
  return {};
}

}  // namespace kinglet::cli
