// JSON: templates get conversations from it, and print tools as JSON.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "text/jinja/value.h"

namespace kinglet::jinja {

// Parses JSON. All texts in it count as said by a conversation. Numbers with a fraction or an
// exponent become floats. Fails with ErrorCode::invalid_argument; the message says what is wrong
// and at which byte.
Result<Value> parse_json(std::string_view text);

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
