// Turns a conversation into the text that a model continues, with the Jinja program of the model's
// file or with a format that the caller names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancellation.h"
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

// Fails with ErrorCode::invalid_argument if a message's role is a misspelt one. Templates may know
// further roles, and leave out messages of those that they do not know.
Status check_roles(const Json& messages, const Cancellation& cancellation = {});

// Returns the variables of a template from a JSON object: `messages` and any others (`tools`,
// `add_generation_prompt` …). All texts in it count as said by the conversation, except the names
// of roles, because some templates make control tokens of them. A result of a tool also has the
// `name` of the tool. Fails with ErrorCode::invalid_argument or cancelled.
Result<jinja::Dict> chat_variables(const Json& json, const Cancellation& cancellation = {});

// Returns the source of the built-in template called `name`. Fails with
// ErrorCode::invalid_argument, whose message lists the known names.
Result<std::string> named_template(std::string_view name);

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

  // Returns the text up to where the model's next answer begins, given all variables, as
  // chat_variables() returns them. When encoding the text, parse the special tokens that the
  // template writes, but not those that messages spell. Arguments of calls in messages may be
  // values, or JSON text, whose numbers stay as they are spelled. The template gets values, as in
  // transformers; but text as it is given, if the template can only join it. Thoughts of a message,
  // in its `reasoning_content`, are given under every name that the template reads. A result of a
  // tool becomes one of the `tool_responses` of the message with the calls, if the template reads
  // these and no messages of role "tool". Errors:
  // invalid_argument (the template refuses the conversation; the message is the template's),
  // out_of_memory (the template exceeds the limits of interpreter.h), cancelled.
  Result<ChatText> render(jinja::Dict variables, const jinja::Now& now,
                          const Cancellation& cancellation = {}) const;

 private:
  ChatTemplate(jinja::Template program, std::string_view bos, std::string_view eos);

  // Whether the template treats messages of role "tool" in another way than those of any role.
  bool knows_results() const;

  jinja::Template program_;
  std::string bos_;
  std::string eos_;
  std::vector<const char*> thought_names_;  // by which the template reads thoughts
  bool reads_responses_ = false;
};

}  // namespace kinglet
