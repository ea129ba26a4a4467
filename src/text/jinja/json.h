// JSON, as templates are given conversations and print tools.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "text/jinja/value.h"

namespace kinglet::jinja {

// All texts in it count as said by a conversation. Numbers with a fraction or an exponent become
// floats. ErrorCode::invalid_argument says what was found, and at which byte.
Result<Value> parse_json(std::string_view text);

struct JsonStyle {
  std::optional<Text> indent;  // in front of a level; without it all is on one line
  Text item_separator{", "};
  Text key_separator{": "};
  bool sort_keys = false;
  bool ascii = false;  // other characters as \uXXXX
};

// As json.dumps() of Python. ErrorCode::invalid_argument for what JSON cannot hold.
Result<Text> print_json(const Value& value, const JsonStyle& style);

}  // namespace kinglet::jinja
