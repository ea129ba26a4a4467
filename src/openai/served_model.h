// The model that a server answers with, and what requests need to know of it: its name, its default
// sampling, its chat templates, and the format of its answers and calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/cancellation.h"
#include "chat/chat_layout.h"
#include "json/json.h"
#include "openai/api_error.h"
#include "session/language_model.h"
#include "session/sampler.h"
#include "text/answer/answer_format.h"
#include "text/chat_template.h"

namespace kinglet::openai {

struct ServedOptions {
  std::string name;              // that clients see
  uint32_t n_ctx = 0;            // the most positions of a request
  SamplerOptions sampling = {};  // applies where a request sets nothing
  bool trusts_content = false;   // texts of messages may spell control tokens
  bool caches_prompts = false;   // see PromptCache
};

// Does not change after construction: may be used on any thread.
class ServedModel {
 public:
  // `loaded` and `layout` must outlive the object.
  ServedModel(const LanguageModel& loaded, const ChatLayout& layout, ServedOptions options)
      : loaded_(loaded), layout_(layout), options_(std::move(options)) {}

  const Model& model() const { return loaded_.model; }
  const LanguageModel& loaded() const { return loaded_; }
  const Tokenizer& tokenizer() const { return *loaded_.tokenizer; }
  const std::string& name() const { return options_.name; }
  uint32_t n_ctx() const { return options_.n_ctx; }
  const ChatLayout& layout() const { return layout_; }
  bool caches_prompts() const { return options_.caches_prompts; }
  const SamplerOptions& sampling() const { return options_.sampling; }

  // The format of answers to a conversation with or without tools.
  const AnswerFormat& answer_format(bool has_tools) const {
    return layout_.answer_format(has_tools);
  }

  // See ChatLayout. A conversation that exceeds the limits of templates is too large (413).
  ApiResult<ChatText> lay_out(Json variables, const Json& tools,
                              const Cancellation& cancellation = {}) const;

  // The answers to GET /v1/models, and to GET /v1/models/NAME: the model has every name.
  Json list() const;
  Json described_as(std::string_view name) const;

  // Fails if the model makes vectors or scores, and no text.
  ApiStatus check_makes_text() const;

 private:
  const LanguageModel& loaded_;
  const ChatLayout& layout_;
  ServedOptions options_;
};

}  // namespace kinglet::openai
