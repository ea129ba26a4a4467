// How a model marks what it thinks and the tools that it calls, told by its chat template.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "text/answer/call_notation.h"
#include "text/answer/calls.h"
#include "text/tokenizer.h"

namespace kinglet {

// In front of Llama 3's calls, where it writes anything.
constexpr std::string_view kPythonTag = "<|python_tag|>";

struct ThoughtMarks {
  std::string_view begin;
  std::string_view end;
  std::string_view token;  // a control token that `begin` starts with; empty: text can spell it
};

struct CallMarks {
  CallSyntax syntax;
  std::string_view begin;  // empty: an answer that calls is nothing but calls
  std::string_view end;    // empty: calls go on to the end of the answer
  std::string_view quote;  // around strings, beside the usual ones; may be empty
  const CallNotation* notation;
};

struct AnswerFormat {
  std::optional<ThoughtMarks> thoughts;  // none: the template knows of no thoughts
  CallMarks calls;
  bool knows_tools = false;  // the template tells the model of tools

  // Whether the end of a prompt has begun a thought.
  bool is_thinking_after(std::string_view prompt) const;

  // The marks that may be control tokens, whose text is to be in an answer that is read, those of
  // calls among them or not.
  std::vector<std::string_view> marks(bool with_calls) const;
};

// A mark of calls or thoughts, and the one token that is all of it.
struct MarkToken {
  std::string_view mark;
  TokenId token;
};

// Those that the vocabulary has.
std::vector<MarkToken> mark_tokens(const AnswerFormat& format, const Tokenizer& tokenizer);

// The format of `chat_template`, a Jinja program. A template that knows no tools leaves it to its
// user to tell the model of them: in Hermes' syntax.
AnswerFormat find_answer_format(std::string_view chat_template);

}  // namespace kinglet
