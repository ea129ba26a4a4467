// How a model marks its thoughts and its calls of tools, found out from its chat template.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "text/answer/call_notation.h"
#include "text/answer/calls.h"
#include "text/tokenizer.h"

namespace kinglet {

// What Llama 3 writes in front of its calls, if anything.
constexpr std::string_view kPythonTag = "<|python_tag|>";

struct ThoughtMarks {
  std::string_view begin;
  std::string_view end;
  std::string_view token;  // a control token that `begin` starts with; empty: `begin` may be text
};

struct CallMarks {
  CallSyntax syntax;
  std::string_view begin;  // empty: an answer with calls has nothing but calls
  std::string_view end;    // empty: calls go on to the end of the answer
  std::string_view quote;  // around strings, in addition to the usual quotes; may be empty
  const CallNotation* notation;
};

struct AnswerFormat {
  std::optional<ThoughtMarks> thoughts;  // nullopt: the template has no marks of thoughts
  CallMarks calls;
  bool knows_tools = false;  // whether the template describes tools to the model

  // Whether the end of `prompt` begins a thought.
  bool is_thinking_after(std::string_view prompt) const;

  // Returns the marks that may be control tokens; reading an answer needs their text. `with_calls`:
  // includes the marks of calls.
  std::vector<std::string_view> marks(bool with_calls) const;
};

// A mark of calls or thoughts that is a single token.
struct MarkToken {
  std::string_view mark;
  TokenId token;
};

// Returns the marks of `format` that are single tokens of the vocabulary.
std::vector<MarkToken> mark_tokens(const AnswerFormat& format, const Tokenizer& tokenizer);

// Returns the format of `chat_template`, a Jinja program. If the template does not use tools, its
// user has to describe them to the model, and the format of calls is Hermes'.
AnswerFormat find_answer_format(std::string_view chat_template);

}  // namespace kinglet
