// How a conversation becomes the one text that a model continues: by the Jinja program that a file
// brings along, or by a format that is asked for by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/header.h"
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

struct ChatOptions {
  bool thinking = true;  // false asks models that reason first, and can do without, for an answer
  jinja::Now now = {};   // what templates say that are not told
};

// A conversation as one text.
struct ChatText {
  std::string text;
  // What of it the messages say, in order, none of them empty: it is to be encoded as plain text,
  // so that a message cannot spell the end of its turn and the beginning of another's.
  std::vector<TextRange> said;
};

// What a template is to know, of a JSON object: `messages`, and whatever else (`tools`,
// `add_generation_prompt` …). All texts in it count as said by the conversation, but the names of
// roles, of which some templates make control tokens. ErrorCode::invalid_argument.
Result<jinja::Dict> chat_variables(std::string_view json);

class ChatTemplate {
 public:
  // The file's own template; with tools, the one that it has for them. ErrorCode::missing_metadata
  // where it has none; unsupported_feature where it cannot be read, with what is wrong in which
  // line.
  static Result<ChatTemplate> from_gguf(const GgufHeader& header, const Vocabulary& vocabulary,
                                        bool with_tools = false);

  // ErrorCode::unsupported_feature.
  static Result<ChatTemplate> parse(std::string_view source, const Vocabulary& vocabulary);

  // `bos` and `eos` are how the vocabulary spells its marks. ErrorCode::unsupported_feature.
  static Result<ChatTemplate> parse(std::string_view source, std::string_view bos,
                                    std::string_view eos);

  // The format called `name`, whatever the file says. ErrorCode::invalid_argument names those
  // known.
  static Result<ChatTemplate> named(std::string_view name, const Vocabulary& vocabulary);

  // The text up to where the model's next answer begins, to be encoded with the special tokens of
  // the template parsed, those that the messages spell not. ErrorCode::invalid_argument: the
  // template refuses the conversation, in its words; out_of_memory: it does not end.
  Result<ChatText> render(std::span<const ChatMessage> messages, const ChatOptions& options) const;

  // The same of all that the template is to know, as chat_variables() gives it.
  Result<ChatText> render(jinja::Dict variables, const jinja::Now& now) const;

 private:
  ChatTemplate(jinja::Template program, std::string_view bos, std::string_view eos)
      : program_(std::move(program)), bos_(bos), eos_(eos) {}

  jinja::Template program_;
  std::string bos_;
  std::string eos_;
};

}  // namespace kinglet
