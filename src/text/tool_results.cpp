#include "text/tool_results.h"

#include <map>
#include <string>

namespace kinglet {
namespace {

std::string_view text_of(const Json& object, std::string_view name) {
  const std::string* text = object.find_string(name);
  return text == nullptr ? std::string_view() : *text;
}

}  // namespace

std::vector<std::optional<AnsweredCall>> answered_calls(const Json& messages,
                                                        const Cancellation& cancellation) {
  std::vector<std::optional<AnsweredCall>> answered(messages.size());
  std::map<std::string_view, AnsweredCall> by_id;
  std::vector<AnsweredCall> latest;  // calls of one message
  bool have_ids = false;             // some of them
  size_t place = 0;                  // of the next result
  for (size_t i = 0; i < messages.size() && !cancellation.requested(); ++i) {
    if (!latest.empty() && text_of(messages[i], "role") == "tool") {
      const size_t own_place = place++;
      const std::string_view id = text_of(messages[i], "tool_call_id");
      const auto found = by_id.find(id);
      answered[i] = AnsweredCall{latest.front().message};
      if (found != by_id.end()) {
        answered[i] = found->second;
      } else if (own_place < latest.size() && (id.empty() || !have_ids)) {
        answered[i] = latest[own_place];
      }
    }
    const Json& calls = messages[i]["tool_calls"];
    if (!calls.is_array() || calls.empty()) continue;
    latest.clear();
    have_ids = false;
    place = 0;
    for (const Json& call : calls.as_array()) {
      const Json& function = call["function"];
      latest.push_back({i, text_of(function.is_object() ? function : call, "name")});
      const std::string_view id = text_of(call, "id");
      if (id.empty()) continue;
      by_id.insert_or_assign(id, latest.back());
      have_ids = true;
    }
  }
  return answered;
}

}  // namespace kinglet
