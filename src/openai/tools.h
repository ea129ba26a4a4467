// The tools of a request, and the instructions that describe them to models whose templates do not.
#pragma once

#include <string>

#include "json/json.h"
#include "openai/api_error.h"
#include "openai/fields.h"
#include "openai/patience.h"

namespace kinglet::openai {

struct ChosenTools {
  Json tools = Json::array();  // to describe to the model; empty if it is to call none
  bool is_forced = false;      // the answer must be a call
  bool is_named = false;       // of one function that the client named
};

// Reads "tools" and "tool_choice".
ApiResult<ChosenTools> read_tools(Fields& fields, const Patience& patience = {});

// Returns the instructions for a model whose template knows no tools: to write calls as Hermes
// does.
std::string tool_instructions(const Json& tools);

// Returns a call as tool_instructions() asks for it.
std::string spell_call(const std::string& name, const std::string& arguments);

}  // namespace kinglet::openai
