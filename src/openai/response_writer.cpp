#include "openai/response_writer.h"

#include <utility>

#include "base/format.h"

namespace kinglet::openai {
namespace {

// The response before it has any output.
Json begun_response(const std::string& id, int64_t created, const ResponseRequest& request) {
  Json made = {{"id", id},
               {"object", "response"},
               {"created_at", created},
               {"status", "in_progress"},
               {"error", nullptr},
               {"incomplete_details", nullptr},
               {"output", Json::array()},
               {"output_text", ""},
               {"model", request.model}};
  for (const auto& [name, value] : request.repeated.as_object()) made[name] = value;
  return made;
}

// The text of all messages.
std::string text_of_items(const Json& items) {
  std::string text;
  for (const Json& item : items.as_array()) {
    if (item["type"] != "message") continue;
    for (const Json& part : item["content"].as_array()) text += part["text"].as_string();
  }
  return text;
}

Json response_usage(const Usage& usage) {
  return {
      {"input_tokens", usage.prompt_tokens},
      {"input_tokens_details", {{"cached_tokens", usage.cached_tokens}, {"cache_write_tokens", 0}}},
      {"output_tokens", usage.completion_tokens},
      {"output_tokens_details", {{"reasoning_tokens", usage.reasoning_tokens}}},
      {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

}  // namespace

ResponseWriter::ResponseWriter(const ResponseRequest& request, const Tokenizer& tokenizer)
    : AnswerWriter(request, tokenizer, "resp_"),
      response_(begun_response(id(), created(), request)) {}

std::string ResponseWriter::event(const Json& chunk) const {
  return cat("event: ", chunk["type"].as_string(), "\n", AnswerWriter::event(chunk));
}

std::string ResponseWriter::error_event(const ApiError& error) const {
  Json body = {{"type", "error"}};
  body["error"] = error_members(error);
  return event(body);
}

void ResponseWriter::begin(const GenerationPrompt&, uint32_t, std::vector<Json>& chunks) {
  const size_t n_known = chunks.size();
  tell_response("response.created", chunks);
  tell_response("response.in_progress", chunks);
  number(n_known, chunks);
}

void ResponseWriter::add(const AnswerEvent& event, std::vector<Json>& chunks) {
  const size_t n_known = chunks.size();
  if (const auto logprobs = logprobs_of(event)) output_.add(event.added, *logprobs, chunks);
  if (event.is_last()) end(finish_name(event) == "length", chunks);
  number(n_known, chunks);
}

void ResponseWriter::end(bool is_cut, std::vector<Json>& chunks) {
  const char* status = is_cut ? "incomplete" : "completed";
  output_.end(status, chunks);
  response_["status"] = status;
  response_["output"] = output_.items();
  response_["output_text"] = text_of_items(output_.items());
  response_["usage"] = response_usage(usage());
  if (is_cut) response_["incomplete_details"] = {{"reason", "max_output_tokens"}};
  tell_response(cat("response.", status), chunks);
}

void ResponseWriter::tell_response(std::string_view type, std::vector<Json>& chunks) const {
  chunks.push_back({{"type", type}, {"response", response_}});
}

// Numbers the events after the first `n_known`.
void ResponseWriter::number(size_t n_known, std::vector<Json>& chunks) {
  for (size_t i = n_known; i < chunks.size(); ++i) chunks[i]["sequence_number"] = n_events_++;
}

}  // namespace kinglet::openai
