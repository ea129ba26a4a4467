// Builds the output of a response of OpenAI's Responses API, item after item, while the answer is
// generated, and reports it as the events of a stream.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answers/answer.h"
#include "json/json.h"

namespace kinglet::openai {

class ResponseOutput {
 public:
  // Appends the events of the next part of the answer.
  // `logprobs`: of its tokens.
  void add(const AnswerDelta& added, const Json& logprobs, std::vector<Json>& events);

  // Ends the answer; `status` is "completed" or "incomplete". An empty answer becomes an empty
  // message.
  void end(std::string_view status, std::vector<Json>& events);

  // The items that are done.
  const Json& items() const { return items_; }

 private:
  // A message, the thoughts before it, or a call.
  struct Item {
    std::string_view type;
    std::string id;
    std::string text = {};  // so far: of the answer, the thoughts or the arguments
    Json logprobs = Json::array();
    std::string call_id = {};
    std::string name = {};

    Json part() const;
    Json to_json(std::string_view status) const;
  };

  void grow(std::string_view type, const std::string& delta, const Json& logprobs,
            std::vector<Json>& events);
  void grow_call(const CallDelta& call, std::vector<Json>& events);
  void begin(Item item, std::vector<Json>& events);
  void close(std::string_view status, std::vector<Json>& events);
  Json event(std::string_view type) const;
  Json part_event(std::string_view type) const;

  Json items_ = Json::array();
  std::optional<Item> open_;
};

}  // namespace kinglet::openai
