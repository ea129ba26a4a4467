// The built-in chat formats: how a conversation becomes the one text that a model continues.
//
// A file's tokenizer.chat_template is a Jinja program. It is not run here: each format is a row of
// a table, recognised by what only its templates contain. Sources: the templates of the models
// named in the table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/header.h"
#include "text/added_tokens.h"
#include "text/vocabulary.h"

namespace kinglet {

enum class ChatRole : uint8_t { system, user, assistant };

struct ChatMessage {
  ChatRole role;
  std::string content;
};

struct Date {
  int year;
  int month;  // 1 to 12
  int day;
};

struct ChatOptions {
  bool thinking = true;  // false asks models that reason first, and can do without, for an answer
  Date today = {2024, 7, 26};  // what templates say that are not told
};

// A conversation as one text.
struct ChatText {
  std::string text;
  // What of it the messages say, in order, none of them empty: it is to be encoded as plain text,
  // so that a message cannot spell the end of its turn and the beginning of another's.
  std::vector<TextRange> said;
};

struct ChatFormat;
struct Turn;

class ChatTemplate {
 public:
  // The format of the file's own template. ErrorCode::missing_metadata where it has none;
  // unsupported_feature names the formats that are known where it is none of them.
  static Result<ChatTemplate> from_gguf(const GgufHeader& header, const Vocabulary& vocabulary);

  // The format of a template's text; `bos` and `eos` are how the vocabulary spells its marks.
  static Result<ChatTemplate> recognise(std::string_view source, std::string_view bos,
                                        std::string_view eos);

  // The format called `name`, whatever the file says. ErrorCode::invalid_argument names those
  // known.
  static Result<ChatTemplate> named(std::string_view name, const Vocabulary& vocabulary);

  std::string_view format_name() const;

  // The text up to where the model's next answer begins, to be encoded with the special tokens of
  // the format parsed, those that the messages spell not.
  // `messages`: at most one of the system, at the front, then the user's and the assistant's in
  // turn, the user's first and last; else ErrorCode::invalid_argument, as for a system message in a
  // format that knows none.
  Result<ChatText> render(std::span<const ChatMessage> messages, const ChatOptions& options) const;

 private:
  ChatTemplate(const ChatFormat& format, std::string_view source, std::string_view bos,
               std::string_view eos);

  // What the system's turn says; empty where there is none.
  ChatText system_text(std::string_view given, const ChatOptions& options) const;
  // An earlier answer, without its thoughts where the template cuts these.
  std::string_view past_answer(const ChatMessage& message) const;
  // The empty thoughts that stand in front of an answer without any.
  std::string_view no_thoughts(const ChatOptions& options, bool in_past) const;
  void append_turn(ChatText& out, const Turn& turn, const ChatText& front,
                   const ChatText& content) const;
  void append_marks(ChatText& out, std::string_view pattern) const;

  const ChatFormat* format_;
  std::string source_;  // with \n as the character that it spells
  std::string bos_;
  std::string eos_;
};

}  // namespace kinglet
