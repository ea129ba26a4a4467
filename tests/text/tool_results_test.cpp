#include "text/tool_results.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace kinglet {
namespace {

Json parsed(std::string_view text) { return parse_json(text).value(); }

// A question, an answer with the calls "a" and "b", and results with these ids.
Json with_results(std::initializer_list<const char*> ids) {
  Json messages = parsed(R"([{"role": "user", "content": ""},
      {"role": "assistant", "content": "", "tool_calls": [
          {"id": "a", "function": {"name": "first"}}, {"id": "b", "function": {"name": "second"}}]}])");
  for (const char* id : ids) {
    messages.push_back({{"role", "tool"}, {"content", ""}, {"tool_call_id", id}});
  }
  return messages;
}

TEST(WaitingCall, IsTheFirstWithoutAResult) {
  const auto waiting = [](const Json& messages) {
    const Json* call = waiting_call(messages);
    return call == nullptr ? "" : (*call)["id"].as_string();
  };
  EXPECT_EQ(waiting(with_results({})), "a");
  EXPECT_EQ(waiting(with_results({"a"})), "b");
  EXPECT_EQ(waiting(with_results({"b"})), "a");
  EXPECT_EQ(waiting(with_results({"b", "a"})), "");
  EXPECT_EQ(waiting(parsed(R"([{"role": "user", "content": ""}])")), "");
  EXPECT_EQ(waiting(parsed(R"([{"role": "tool", "content": ""}])")), "");
  EXPECT_EQ(waiting(Json::array()), "");
}

TEST(WaitingCall, IsNoneOnceTheConversationGoesOn) {
  Json messages = with_results({});
  messages.push_back({{"role", "user"}, {"content", ""}});
  EXPECT_EQ(waiting_call(messages), nullptr);
}

}  // namespace
}  // namespace kinglet
