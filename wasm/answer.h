// Answers, as JavaScript plans them and reads their events. engine.d.ts describes what is bound
// here.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "answers/answer.h"
#include "base/result.h"
#include "chat/answer_plan.h"
#include "json/json.h"
#include "openai/tools.h"
#include "text/answer/answer_format.h"
#include "text/tokenizer.h"
#include "wasm/values.h"

namespace kinglet {

// More than any schema may have: the compiler then says so in the schema's terms.
constexpr size_t kMostSchemaLevels = 1000;

class EngineAnswer {
 public:
  explicit EngineAnswer(AnswerPlan plan) : plan_(std::move(plan)) {}

  const AnswerPlan& plan() const { return plan_; }

  // See AnswerPlan.
  val warnings() const { return to_js(plan_.warnings); }

 private:
  AnswerPlan plan_;
};

// Returns the tools that a choice leaves: the JSON of OpenAI's "tool_choice"; "": all.
Result<openai::ChosenTools> choose_tools(const Json& tools, const std::string& choice);

// Returns an EngineAnswer, or an error. `format`: of answers to the conversation.
val new_answer(const val& request, const openai::ChosenTools& tools, const AnswerFormat& format,
               const Tokenizer& tokenizer);

// Returns an EngineAnswerEvent.
val to_js(const AnswerEvent& event);

}  // namespace kinglet
