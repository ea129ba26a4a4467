// The model that a server answers with, and what requests need to know of it: its name, its default
// sampling, its chat templates, and the format of its answers and calls.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "openai/api_error.h"
#include "session/language_model.h"
#include "session/sampler.h"
#include "text/answer/answer_format.h"
#include "text/chat_template.h"

namespace kinglet::openai {

// Does not change after construction: may be used on any thread.
class ServedModel {
 public:
  // `loaded` must outlive the object. `name` is the name that clients see, `n_ctx` the most
  // positions of a request, and `sampling` the options that apply where a request sets none.
  ServedModel(const LanguageModel& loaded, std::string name, uint32_t n_ctx,
              SamplerOptions sampling);

  const Model& model() const { return loaded_.model; }
  const LanguageModel& loaded() const { return loaded_; }
  const Tokenizer& tokenizer() const { return *loaded_.tokenizer; }
  const std::string& name() const { return name_; }
  uint32_t n_ctx() const { return n_ctx_; }
  const SamplerOptions& sampling() const { return sampling_; }

  // Whether the model's template describes tools to the model.
  bool knows_tools() const { return format_with_tools_.knows_tools; }

  // The format of answers to a conversation with or without tools.
  const AnswerFormat& answer_format(bool has_tools) const {
    return has_tools ? format_with_tools_ : format_;
  }

  // Renders a conversation as text. `variables` are those of chat_variables().
  ApiResult<ChatText> lay_out(const Json& variables, bool has_tools) const;

  // The answers to GET /v1/models, and to GET /v1/models/NAME: the model has every name.
  Json list() const;
  Json described_as(std::string_view name) const;

  // Fails if the model makes vectors or scores, and no text.
  ApiStatus check_makes_text() const;

 private:
  const LanguageModel& loaded_;
  std::string name_;
  uint32_t n_ctx_;
  SamplerOptions sampling_;
  Result<ChatTemplate> template_;
  Result<ChatTemplate> template_with_tools_;
  AnswerFormat format_;
  AnswerFormat format_with_tools_;
};

}  // namespace kinglet::openai
