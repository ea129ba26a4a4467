#include "text/tool_results.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace kinglet {
std::vector<std::optional<AnsweredCall>> answered_calls(const Json& messages,
                                                        const Cancellation& cancellation) {
  std::vector<std::optional<AnsweredCall>> answered(messages.size());
  std::map<std::string_view, AnsweredCall> by_id;
  std::vector<AnsweredCall> latest;  // calls of one message
  bool have_ids = false;             // some of them
  size_t place = 0;                  // of the next result
  for (size_t i = 0; i < messages.size() && !cancellation.requested(); ++i) {
    if (!latest.empty() && messages[i].text_of("role") == "tool") {
      const size_t own_place = place++;
      const std::string_view id = messages[i].text_of("tool_call_id");
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
      latest.push_back({i, &call});
      const std::string_view id = call.text_of("id");
      if (id.empty()) continue;
      by_id.insert_or_assign(id, latest.back());
      have_ids = true;
    }
  }
  return answered;
}

std::string_view AnsweredCall::tool() const {
  if (call == nullptr) return {};
  const Json& function = (*call)["function"];
  return (function.is_object() ? function : *call).text_of("name");
}

const Json* waiting_call(const Json& messages) {
  const auto answered = answered_calls(messages);
  size_t end = messages.size();  // of the messages before the last results
  while (end > 0 && messages[end - 1].text_of("role") == "tool") --end;
  if (end == 0) return nullptr;
  const Json& calls = messages[end - 1]["tool_calls"];
  for (size_t i = 0; calls.is_array() && i < calls.size(); ++i) {
    const bool is_answered =
        std::any_of(answered.begin() + static_cast<ptrdiff_t>(end), answered.end(),
                    [&](const auto& result) { return result && result->call == &calls[i]; });
    if (!is_answered) return &calls[i];
  }
  return nullptr;
}

}  // namespace kinglet
