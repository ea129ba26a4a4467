// Answers, as JavaScript plans them and sessions write them. engine.d.ts describes what is bound
// here.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "chat/answer_plan.h"
#include "chat/chat_answer.h"
#include "text/answer/answer_format.h"
#include "text/tokenizer.h"
#include "wasm/values.h"

namespace kinglet {

// A planned answer. A session that writes it divides it.
class EngineAnswer {
 public:
  // `is_divided`: into text, thoughts and calls; otherwise it is all text.
  EngineAnswer(AnswerPlan plan, bool is_divided) : plan_(std::move(plan)) {
    if (is_divided) answer_.emplace(plan_);
  }

  const AnswerPlan& plan() const { return plan_; }

  // See AnswerPlan.
  val warnings() const;

  // Returns what the text adds. `is_last`: the answer ends with it.
  AnswerDelta push(std::string text, bool is_last);

  // See ChatAnswer.
  FinishReason finish(FinishReason reason) const {
    return answer_ ? answer_->finish(reason) : reason;
  }

  // The same as push() for tests, as fields of an EngineStep.
  val read(const std::string& text, bool is_last);

 private:
  AnswerPlan plan_;
  std::optional<ChatAnswer> answer_;
};

// Sets the fields of an EngineStep that say what a piece of an answer adds.
void set_delta(val& fields, const AnswerDelta& delta);

// Returns an EngineAnswer, or an error. `format`: of answers to the conversation.
val new_answer(const val& request, const AnswerFormat& format, const Tokenizer& tokenizer);

}  // namespace kinglet
