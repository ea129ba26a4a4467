// Cutting a template into its own text and the tokens of what it does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kinglet::jinja {

enum class TokenKind : uint8_t {
  data,         // the template's own text
  block_begin,  // {%
  block_end,
  variable_begin,  // {{
  variable_end,
  name,
  text,  // of a string, its escapes resolved
  integer,
  real,
  sign,  // an operator or a bracket
  end,   // of the template
};

struct Token {
  TokenKind kind;
  std::string text;
  uint32_t line;
};

// With trim_blocks and lstrip_blocks: a block's line leaves nothing behind. One newline at the end
// of the template is dropped, and others become "\n". The last token is `end`.
// ErrorCode::unsupported_feature says what is unknown, and in which line.
Result<std::vector<Token>> tokenize(std::string_view source);

}  // namespace kinglet::jinja
