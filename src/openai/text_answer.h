// The answer to a request for text: its choices, made one after the other, and how they are
// written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "json/json.h"
#include "openai/answer_writer.h"
#include "openai/generation_request.h"

namespace kinglet::openai {

// What a session must compute for a choice.
struct ChoiceWork {
  const GenerationPrompt& prompt;
  const AnswerPlan& plan;
  GenerationOptions options;
};

class TextAnswer {
 public:
  // `writer` must write for `request`.
  TextAnswer(std::shared_ptr<const GenerationRequest> request, std::unique_ptr<AnswerWriter> writer)
      : request_(std::move(request)), writer_(std::move(writer)) {}

  const GenerationRequest& request() const { return *request_; }

  bool is_stream() const { return request_->streams; }

  const std::vector<std::string>& warnings() const { return request_->warnings; }

  // Whether all choices are written.
  bool is_done() const { return !is_open_ && n_begun_ == n_choices(); }

  // Begins the next choice, and appends its first chunks.
  ChoiceWork begin_choice(std::vector<Json>& chunks);

  // Reads the next event of the choice.
  void read(const AnswerEvent& event, std::vector<Json>& chunks);

  const AnswerWriter& writer() const { return *writer_; }

 private:
  uint64_t n_choices() const { return uint64_t{request_->n_choices} * request_->prompts.size(); }

  std::shared_ptr<const GenerationRequest> request_;
  std::unique_ptr<AnswerWriter> writer_;
  uint32_t n_begun_ = 0;  // choices, of all prompts
  bool is_open_ = false;  // the last one that was begun is not whole
};

}  // namespace kinglet::openai
