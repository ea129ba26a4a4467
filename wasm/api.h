// OpenAI's API and the layout of conversations, for JavaScript. engine.d.ts describes what is bound
// here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "chat/chat_layout.h"
#include "json/json.h"
#include "openai/api.h"
#include "session/language_model.h"
#include "wasm/session.h"
#include "wasm/values.h"

namespace kinglet {

// A request that is being answered. It keeps the model alive.
class EngineRequest {
 public:
  EngineRequest(std::shared_ptr<const LanguageModel> loaded, openai::Asked asked,
                std::vector<std::string> pictures)
      : loaded_(std::move(loaded)), asked_(std::move(asked)), pictures_(std::move(pictures)) {}

  val pictures() const;

  // For a request that was answered at once.
  std::string answer() const;

  // For a request for vectors or scores.
  val texts() const;
  std::string pooling() const;
  std::string answer_with(const val& rows) const;

  // For a request for text.
  bool is_stream() const;
  bool is_done() const;
  val begin_choice(EngineSession& session, double id);
  val step(EngineSession& session, double max_batch);
  std::string last_events() const;

 private:
  openai::TextAnswer* text() { return std::get_if<openai::TextAnswer>(&asked_); }
  const openai::TextAnswer* text() const { return std::get_if<openai::TextAnswer>(&asked_); }
  // Returns the chunks as a stream has them; "" if the answer is no stream.
  std::string events(const std::vector<Json>& chunks) const;
  val refusal(const Error& error) const;

  std::shared_ptr<const LanguageModel> loaded_;
  openai::Asked asked_;
  std::vector<std::string> pictures_;  // URLs of pictures whose parts were not given
  uint32_t n_cached_ = 0;              // of the current choice's prompt
};

class EngineApi {
 public:
  EngineApi(std::shared_ptr<const LanguageModel> loaded, std::string name,
            const std::string& chat_template);

  val check() const { return to_js(layout_.check()); }

  val lay_out(const val& conversation) const;

  val make_prompt(const val& request) const;

  val new_answer(const val& request, bool has_tools) const;

  val read(const val& request) const;

 private:
  struct Variables;

  // Lays out messages with the template's other variables.
  Result<ChatText> lay_out(const Json& messages, const Variables& given) const;

  std::shared_ptr<const LanguageModel> loaded_;
  std::string name_;
  ChatLayout layout_;
  SamplerOptions sampling_;
};

}  // namespace kinglet
