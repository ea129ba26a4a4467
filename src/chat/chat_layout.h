// Lays out conversations with a model's chat templates.
#pragma once

#include <optional>
#include <string_view>

#include "base/cancellation.h"
#include "base/result.h"
#include "chat/template_dialect.h"
#include "gguf/header.h"
#include "json/json.h"
#include "text/answer/answer_format.h"
#include "text/chat_template.h"
#include "text/vocabulary.h"

namespace kinglet {

// Does not change after construction: may be used on any thread.
class ChatLayout {
 public:
  // `own_template` is used instead of the file's templates, unless it is empty.
  ChatLayout(const GgufHeader& header, const Vocabulary& vocabulary,
             std::string_view own_template = {});

  // Fails if conversations cannot be laid out: missing_metadata (the file has no template) or
  // unsupported_feature (the template cannot be read).
  Status check() const;

  // The format of answers to a conversation with or without tools.
  const AnswerFormat& answer_format(bool has_tools) const { return side(has_tools).format; }

  // Renders a conversation as text, with these tools. `variables` are those of chat_variables(),
  // other than the tools. The messages are adapted to what the template knows: see in_dialect(). If
  // it needs their content as a list of parts, texts are converted to it. Errors: those of check(),
  // in_dialect(), chat_variables() and ChatTemplate::render().
  Result<ChatText> lay_out(Json variables, const Json& tools = Json::array(),
                           const Cancellation& cancellation = {}) const;

 private:
  struct Side {
    Side(Result<ChatTemplate> parsed, std::string_view source);

    Result<ChatTemplate> program;
    AnswerFormat format;
    TemplateDialect dialect;
    bool reads_parts;  // the template leaves out messages whose content is a text
  };

  const Side& side(bool has_tools) const { return has_tools && for_tools_ ? *for_tools_ : usual_; }

  Side usual_;
  std::optional<Side> for_tools_;  // if the file has a template of its own for tools
};

}  // namespace kinglet
