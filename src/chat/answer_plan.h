// How the answer to a conversation is constrained and read: with which thoughts and calls of tools,
// and by which grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "chat/thought_limit.h"
#include "grammar/grammar.h"
#include "json/json.h"
#include "session/generation.h"
#include "text/answer/answer_format.h"
#include "text/answer/answer_reader.h"
#include "text/tokenizer.h"

namespace kinglet {

// What a caller demands of an answer.
struct AnswerDemands {
  Json tools = Json::array();  // that the answer may call: see CallRules
  bool must_call = false;      // the answer must be a call; then `schema` says nothing
  bool may_call_several = true;
  const Json* schema = nullptr;                  // a JSON schema that the answer must match
  size_t indent = 0;                             // for the schema: see SchemaOptions
  bool open_objects = false;                     // for the schema: see SchemaOptions
  std::string_view grammar = {};                 // GBNF that the whole answer must match
  std::optional<uint32_t> n_thinking_most = {};  // tokens of a thought; nullopt: any number
  Cancellation cancellation = {};                // ends the making of a grammar
};

struct AnswerPlan {
  AnswerFormat format;
  std::vector<KnownTool> tools;
  std::string prompt;              // the end of the text that the answer continues
  std::string prefix;              // what the answer begins with, as if the model had written it
  size_t n_calls_most = SIZE_MAX;  // further calls are left out of the answer
  std::optional<ThoughtLimit> thought_limit = {};
  SharedGrammar grammar = {};              // of what the model writes; null: any text
  std::vector<std::string> warnings = {};  // of the schema: see warnings_of_schema()

  // Returns the control tokens whose text belongs to the answer.
  std::vector<std::string_view> marks() const { return format.marks(!tools.empty()); }

  // Returns a reader of what the model writes.
  AnswerReader reader() const;

  // Sets what the answer demands of its generation.
  void constrain(GenerationOptions& options) const;
};

// `format` is that of the model's chat template, `prompt` the template's own text at the end of the
// prompt. If these and the prefix have begun a thought, the rest of the thought comes before the
// calls or the JSON; otherwise a constrained answer has no thoughts.
//
// Errors: invalid_argument (a tool or the schema cannot be written as a grammar, or there is a
// grammar together with another constraint), cancelled, and those of Grammar::parse() for a given
// grammar.
Result<AnswerPlan> plan_answer(const AnswerFormat& format, const AnswerDemands& demands,
                               std::string_view prompt, std::string_view prefix,
                               const Tokenizer& tokenizer);

}  // namespace kinglet
