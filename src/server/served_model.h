// The model that a server answers with, and all that requests ask of it: its name, what its file
// recommends, how it is told of conversations and tools, and how it writes calls.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "server/api_error.h"
#include "server/json.h"
#include "session/language_model.h"
#include "session/sampler.h"
#include "text/answer/answer_format.h"
#include "text/chat_template.h"

namespace kinglet::server {

// Not changed after it is made: any thread may ask it.
class ServedModel {
 public:
  // `loaded` must outlive this. `name`: as clients see it. `n_ctx`: positions of a request, at
  // most. `sampling`: what requests leave out is as these say.
  ServedModel(const LanguageModel& loaded, std::string name, uint32_t n_ctx,
              SamplerOptions sampling);

  const Model& model() const { return loaded_.model; }
  const LanguageModel& loaded() const { return loaded_; }
  const Tokenizer& tokenizer() const { return *loaded_.tokenizer; }
  const std::string& name() const { return name_; }
  uint32_t n_ctx() const { return n_ctx_; }
  const SamplerOptions& sampling() const { return sampling_; }

  // Whether its template tells it of tools.
  bool knows_tools() const { return format_with_tools_.knows_tools; }

  // The format of answers to a conversation with or without tools.
  const AnswerFormat& answer_format(bool has_tools) const {
    return has_tools ? format_with_tools_ : format_;
  }

  // The text of a conversation: of `variables`, as chat_variables() takes them.
  ApiResult<ChatText> lay_out(const Json& variables, bool has_tools) const;

  // Refuses where the model makes vectors or scores, and no text.
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

}  // namespace kinglet::server
