#include "openai/response_output.h"

#include <utility>

#include "base/format.h"
#include "base/random_name.h"
#include "text/answer/calls.h"

namespace kinglet::openai {
namespace {

constexpr std::string_view kMessage = "message";
constexpr std::string_view kReasoning = "reasoning";
constexpr std::string_view kCall = "function_call";

std::string item_id(std::string_view prefix) { return cat(prefix, "_", random_name(24)); }

}  // namespace

// The content of a message or a thought.
Json ResponseOutput::Item::part() const {
  if (type == kReasoning) return {{"type", "reasoning_text"}, {"text", text}};
  return {{"type", "output_text"},
          {"text", text},
          {"annotations", Json::array()},
          {"logprobs", logprobs}};
}

Json ResponseOutput::Item::to_json(std::string_view status) const {
  Json made = {{"id", id}, {"type", type}, {"status", status}};
  if (type == kCall) {
    made["call_id"] = call_id;
    made["name"] = name;
    made["arguments"] = text;
    return made;
  }
  if (type == kMessage) made["role"] = "assistant";
  if (type == kReasoning) made["summary"] = Json::array();
  made["content"] = status == "in_progress" ? Json::array() : Json::array({part()});
  return made;
}

void ResponseOutput::add(const AnswerDelta& added, const Json& logprobs,
                         std::vector<Json>& events) {
  const auto& [text, thought, calls] = added;
  if (!thought.empty()) grow(kReasoning, thought, Json::array(), events);
  const bool in_message = open_ && open_->type == kMessage;
  if (!text.empty() || (in_message && !logprobs.empty())) {
    grow(kMessage, text, logprobs, events);
  }
  for (const CallDelta& call : calls) grow_call(call, events);
}

void ResponseOutput::end(std::string_view status, std::vector<Json>& events) {
  if (!open_ && items_.empty()) begin({kMessage, item_id("msg")}, events);
  if (open_) close(status, events);
}

void ResponseOutput::grow(std::string_view type, const std::string& delta, const Json& logprobs,
                          std::vector<Json>& events) {
  const bool is_message = type == kMessage;
  if (!open_ || open_->type != type) begin({type, item_id(is_message ? "msg" : "rs")}, events);
  open_->text += delta;
  for (const Json& token : logprobs.as_array()) open_->logprobs.push_back(token);
  Json made =
      part_event(is_message ? "response.output_text.delta" : "response.reasoning_text.delta");
  made["delta"] = delta;
  if (is_message) made["logprobs"] = logprobs;
  events.push_back(std::move(made));
}

void ResponseOutput::grow_call(const CallDelta& call, std::vector<Json>& events) {
  if (call.name) {
    begin({.type = kCall, .id = item_id("fc"), .call_id = call.id, .name = *call.name}, events);
  }
  open_->text += call.arguments;
  if (call.arguments.empty()) return;
  Json made = event("response.function_call_arguments.delta");
  made["delta"] = call.arguments;
  events.push_back(std::move(made));
}

void ResponseOutput::begin(Item item, std::vector<Json>& events) {
  if (open_) {
    const bool is_broken = open_->type == kCall && !is_json_object(open_->text);
    close(is_broken ? "incomplete" : "completed", events);
  }
  open_ = std::move(item);
  events.push_back({{"type", "response.output_item.added"},
                    {"output_index", items_.size()},
                    {"item", open_->to_json("in_progress")}});
  if (open_->type == kCall) return;
  Json made = part_event("response.content_part.added");
  made["part"] = open_->part();
  events.push_back(std::move(made));
}

void ResponseOutput::close(std::string_view status, std::vector<Json>& events) {
  const bool is_message = open_->type == kMessage;
  if (open_->type == kCall) {
    Json done = event("response.function_call_arguments.done");
    done["name"] = open_->name;
    done["arguments"] = open_->text;
    events.push_back(std::move(done));
  } else {
    Json done =
        part_event(is_message ? "response.output_text.done" : "response.reasoning_text.done");
    done["text"] = open_->text;
    if (is_message) done["logprobs"] = open_->logprobs;
    events.push_back(std::move(done));
    Json part = part_event("response.content_part.done");
    part["part"] = open_->part();
    events.push_back(std::move(part));
  }
  Json item = open_->to_json(status);
  events.push_back(
      {{"type", "response.output_item.done"}, {"output_index", items_.size()}, {"item", item}});
  items_.push_back(std::move(item));
  open_.reset();
}

// An event of the open item.
Json ResponseOutput::event(std::string_view type) const {
  return {{"type", type}, {"item_id", open_->id}, {"output_index", items_.size()}};
}

// An event of the only part of the open item.
Json ResponseOutput::part_event(std::string_view type) const {
  Json made = event(type);
  made["content_index"] = 0;
  return made;
}

}  // namespace kinglet::openai
