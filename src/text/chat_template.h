// Turns a conversation into the text that a model continues, with the Jinja program of the model's
// file or with a format that the caller names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/header.h"
#include "json/json.h"
#include "text/added_tokens.h"
#include "text/chat_keys.h"
#include "text/jinja/now.h"
#include "text/jinja/template.h"
#include "text/jinja/value.h"
#include "text/vocabulary.h"

namespace kinglet {

enum class ChatRole : uint8_t { system, user, assistant };

struct ChatMessage {
  ChatRole role;
  std::string content;
};

struct RenderOptions {
  bool thinking = true;  // false: models that can skip their reasoning are asked to do so
  jinja::Now now = {};   // by default the date that templates use if they are given none
};

// A conversation as one text.
struct ChatText {
  std::string text;
  // The parts of `text` that come from messages, in order and not empty. Encode them as plain text,
  // so that a message cannot spell the end of its turn and the beginning of another one.
  std::vector<TextRange> said;

  // Returns the template's own text at the end.
  std::string_view own_end() const {
    return std::string_view(text).substr(said.empty() ? 0 : said.back().end);
  }
};

// Returns the variables of a template from a JSON object: `messages` and any others (`tools`,
// `add_generation_prompt` …). All texts in it count as said by the conversation, except the names
// of roles, because some templates make control tokens of them. Fails with
// ErrorCode::invalid_argument.
Result<jinja::Dict> chat_variables(const Json& json);

class ChatTemplate {
 public:
  // Returns the file's own template; `with_tools` prefers the one for tools if the file has it.
  // Errors: missing_metadata (there is no template), unsupported_feature (the template cannot be
  // read; the message names the problem and its line).
  static Result<ChatTemplate> from_gguf(const GgufHeader& header, const Vocabulary& vocabulary,
                                        bool with_tools = false);

  // Fails with ErrorCode::unsupported_feature.
  static Result<ChatTemplate> parse(std::string_view source, const Vocabulary& vocabulary);

  // `bos` and `eos` are the texts of these tokens. Fails with ErrorCode::unsupported_feature.
  static Result<ChatTemplate> parse(std::string_view source, std::string_view bos,
                                    std::string_view eos);

  // Returns the format called `name`, whatever the file says. Fails with
  // ErrorCode::invalid_argument, whose message lists the known names.
  static Result<ChatTemplate> named(std::string_view name, const Vocabulary& vocabulary);

  // Returns the text up to where the model's next answer begins. When encoding the text, parse the
  // special tokens that the template writes, but not those that messages spell. Errors:
  // invalid_argument (the template refuses the conversation; the message is the template's),
  // out_of_memory (the template exceeds the limits of interpreter.h).
  Result<ChatText> render(std::span<const ChatMessage> messages,
                          const RenderOptions& options) const;

  // Renders all variables of the template, as chat_variables() returns them. Arguments of calls in
  // messages may be values, or JSON text, whose numbers stay as they are spelled. The template gets
  // values, as in transformers; but text as it is given, if the template can only join it.
  Result<ChatText> render(jinja::Dict variables, const jinja::Now& now) const;

 private:
  ChatTemplate(jinja::Template program, std::string_view bos, std::string_view eos)
      : program_(std::move(program)), bos_(bos), eos_(eos) {}

  jinja::Template program_;
  std::string bos_;
  std::string eos_;
};

}  // namespace kinglet
