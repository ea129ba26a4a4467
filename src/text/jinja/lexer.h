// Cuts a template into its literal text and the tokens of its tags.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kinglet::jinja {

enum class TokenKind : uint8_t {
  data,         // literal text of the template
  block_begin,  // {%
  block_end,
  variable_begin,  // {{
  variable_end,
  name,
  text,  // a string, with its escapes resolved
  integer,
  real,
  sign,  // an operator or a bracket
  end,   // the end of the template
};

struct Token {
  TokenKind kind;
  std::string text;
  uint32_t line;
};

// Returns the tokens of a template; the last token is `end`. trim_blocks and lstrip_blocks are on:
// a line that has only a block produces no text. One newline at the end of the template is dropped,
// and all newlines become "\n". Fails with ErrorCode::unsupported_feature; the message says what is
// unknown and in which line.
Result<std::vector<Token>> tokenize(std::string_view source);

}  // namespace kinglet::jinja
