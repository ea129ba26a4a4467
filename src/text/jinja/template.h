// Chat templates: Jinja programs that turn a conversation into one text.
#pragma once

#include <string_view>

#include "base/cancellation.h"
#include "base/result.h"
#include "text/jinja/functions.h"
#include "text/jinja/syntax.h"
#include "text/jinja/text.h"

namespace kinglet::jinja {

class Template {
 public:
  // Fails with ErrorCode::unsupported_feature; the message says what cannot be read, and in which
  // line.
  static Result<Template> parse(std::string_view source);

  // Returns the text that the template makes of the variables. Errors: invalid_argument (an
  // exception that the template raises, with its message, or something that cannot be computed;
  // with the line), out_of_memory (the template exceeds the limits of interpreter.h), cancelled.
  Result<Text> render(const Dict& variables, const Now& now,
                      const Cancellation& cancellation = {}) const;

  // Whether the template has an attribute, or a text, that is `name`: whether it may read a member
  // of this name.
  bool mentions(std::string_view name) const;

 private:
  explicit Template(NodePtr block) : block_(std::move(block)) {}

  NodePtr block_;
};

}  // namespace kinglet::jinja
