// The tools of a request.
#pragma once

#include "json/json.h"
#include "openai/api_error.h"
#include "openai/deadline.h"
#include "openai/fields.h"

namespace kinglet::openai {

struct ChosenTools {
  Json tools = Json::array();  // to describe to the model; empty if it is to call none
  bool is_forced = false;      // the answer must be a call
  bool is_named = false;       // of one function that the client named
};

// Reads "tools" and "tool_choice".
ApiResult<ChosenTools> read_tools(Fields& fields, const Deadline& deadline = {});

}  // namespace kinglet::openai
