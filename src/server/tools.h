// Tools: which ones a request gives, and how models are told of them whose template is not made for
// it.
#pragma once

#include <string>
#include <vector>

#include "server/api_error.h"
#include "server/fields.h"
#include "server/json.h"
#include "text/answer/calls.h"

namespace kinglet::server {

struct ChosenTools {
  Json tools = Json::array();  // that the model is told of; none where it is to call none
  bool is_forced = false;      // the answer must be a call
};

// Of "tools" and "tool_choice".
ApiResult<ChosenTools> read_tools(Fields& fields);

// What must be known of the tools to read calls of them: some models write values without quotes,
// so that only the schema tells strings from numbers.
std::vector<KnownTool> known_tools(const Json& tools);

// What models are told whose template knows no tools: to write calls as Hermes does.
std::string tool_instructions(const Json& tools);

// A call as they are told to write it.
std::string spell_call(const std::string& name, const std::string& arguments);

}  // namespace kinglet::server
