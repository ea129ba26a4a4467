#include "openai/text_answer.h"

namespace kinglet::openai {

ChoiceWork TextAnswer::begin_choice(std::vector<Json>& chunks) {
  const GenerationPrompt& prompt = request_->prompts[n_begun_ / request_->n_choices];
  const uint32_t choice = n_begun_ % request_->n_choices;
  writer_->begin_choice(prompt, choice == 0, n_begun_, chunks);
  ++n_begun_;
  is_open_ = true;
  return {prompt, request_->answer, options_of_choice(*request_, choice)};
}

void TextAnswer::read(const AnswerEvent& event, std::vector<Json>& chunks) {
  writer_->read(event, chunks);
  is_open_ = !event.is_last();
}

}  // namespace kinglet::openai
