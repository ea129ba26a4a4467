// Answers, as JavaScript plans them and reads their events. engine.d.ts describes what is bound
// here.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "answers/answer.h"
#include "answers/answer_message.h"
#include "base/result.h"
#include "chat/answer_plan.h"
#include "chat/conversation_prompt.h"
#include "json/json.h"
#include "text/answer/answer_format.h"
#include "text/tokenizer.h"
#include "wasm/prompt.h"
#include "wasm/values.h"

namespace kinglet {

class EngineAnswer {
 public:
  EngineAnswer(ReadPrompt prompt, AnswerPlan plan);

  // See AnswerPlan.
  val warnings() const { return to_js(plan_.warnings); }

  double n_dropped() const { return to_number(prompt_.n_dropped); }

  // The answer so far, as a message in JSON.
  std::string message() const { return print(message_); }

  // The rest is for C++.

  const std::vector<TokenId>& prompt() const { return prompt_.tokens; }
  const PartsOfPictures& pictures() const { return pictures_; }
  const AnswerPlan& plan() const { return plan_; }

  // See ConversationPrompt.
  void prepare(GenerationOptions& options) { prompt_.prepare(options); }

  void add(const AnswerDelta& added) { add_to(message_, added); }

 private:
  ConversationPrompt prompt_;
  PartsOfPictures pictures_;
  AnswerPlan plan_;
  Json message_;
};

// Returns an EngineAnswer to an EngineAnswerRequest whose prompt was read, or an error. `format`:
// of answers to the prompt.
val new_answer(const val& request, ReadPrompt prompt, const AnswerFormat& format,
               const Tokenizer& tokenizer);

// Returns an EngineAnswerEvent.
val to_js(const AnswerEvent& event);

}  // namespace kinglet
