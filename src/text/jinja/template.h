// Chat templates: Jinja programs that make one text of a conversation.
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/jinja/functions.h"
#include "text/jinja/syntax.h"
#include "text/jinja/text.h"

namespace kinglet::jinja {

class Template {
 public:
  // ErrorCode::unsupported_feature says what cannot be read, and in which line.
  static Result<Template> parse(std::string_view source);

  // The text that it makes of the variables. ErrorCode::invalid_argument: what the template raises,
  // in its words, or what cannot be computed, with the line; out_of_memory beyond the limits of
  // interpreter.h.
  Result<Text> render(const Dict& variables, const Now& now) const;

 private:
  explicit Template(NodePtr block) : block_(std::move(block)) {}

  NodePtr block_;
};

}  // namespace kinglet::jinja
