// JSON: templates get conversations as it, and print tools as it.
#pragma once

#include <optional>

#include "base/cancellation.h"
#include "base/result.h"
#include "json/json.h"
#include "text/jinja/value.h"

namespace kinglet::jinja {

// All texts of the JSON count as said by a conversation. Numbers with a fraction or an exponent
// become floats. Once it is cancelled, the rest is left out.
Value value_of(const Json& json, const Cancellation& cancellation = {});

struct JsonStyle {
  std::optional<Text> indent;  // of each level; nullopt: everything is on one line
  Text item_separator{", "};
  Text key_separator{": "};
  bool sort_keys = false;
  bool ascii = false;  // print characters beyond ASCII as \uXXXX
};

// Prints JSON like Python's json.dumps(). Fails with ErrorCode::invalid_argument for values that
// JSON cannot represent.
Result<Text> print_json(const Value& value, const JsonStyle& style);

}  // namespace kinglet::jinja
