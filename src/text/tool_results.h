// Finds the calls of tools that the messages of a conversation answer.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/cancellation.h"
#include "json/json.h"

namespace kinglet {

struct AnsweredCall {
  size_t message;              // the index of the message with the call
  const Json* call = nullptr;  // in that message; null: unknown

  std::string_view tool() const;  // its name; empty: unknown
};

// Returns for each message the call whose result it is: the latest one with its id; or, if there
// are no ids, the one at the same place in the latest message with calls. If the id is unknown, the
// result belongs to that message, but not to a known tool. nullopt: it is not the result of a call.
std::vector<std::optional<AnsweredCall>> answered_calls(const Json& messages,
                                                        const Cancellation& cancellation = {});

// Returns the first call of the last answer that has no result yet, or null.
const Json* waiting_call(const Json& messages);

}  // namespace kinglet
