// OpenAI's API and the layout of conversations, for JavaScript. engine.d.ts describes what is bound
// here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "answers/runner.h"
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
  EngineRequest(std::shared_ptr<const LanguageModel> loaded, std::shared_ptr<Runner> runner,
                openai::Asked asked, std::vector<std::string> pictures)
      : loaded_(std::move(loaded)),
        runner_(std::move(runner)),
        asked_(std::move(asked)),
        pictures_(std::move(pictures)) {}

  val pictures() const;

  std::string answer() const;
  bool is_stream() const;
  bool is_done() const;

  // For a request for vectors or scores.
  bool is_encoding() const { return std::holds_alternative<openai::EncodingWork>(asked_); }
  void encode(double id, const val& on_event);

  // For a request for text.
  void begin_choice(EngineSession& session, double id, const val& on_event);
  std::string last_events() const;

 private:
  openai::TextAnswer* text() { return std::get_if<openai::TextAnswer>(&asked_); }
  const openai::TextAnswer* text() const { return std::get_if<openai::TextAnswer>(&asked_); }
  // Returns the chunks as a stream has them; "" if the answer is no stream.
  std::string events(const std::vector<Json>& chunks) const;
  // Returns an EngineRequestEvent.
  val read(const Result<AnswerEvent>& event);

  std::shared_ptr<const LanguageModel> loaded_;
  std::shared_ptr<Runner> runner_;
  openai::Asked asked_;
  std::vector<std::string> pictures_;  // URLs of pictures whose parts were not given
  std::vector<Json> waiting_;          // chunks that are sent with the next event
};

class EngineApi {
 public:
  EngineApi(std::shared_ptr<const LanguageModel> loaded, std::shared_ptr<Runner> runner,
            std::string name, const std::string& chat_template);

  val check() const { return to_js(layout_.check()); }

  val lay_out(const val& conversation) const;

  val make_prompt(const val& request) const;

  val new_answer(const val& request) const;

  val read(const val& request) const;

 private:
  struct Variables;

  // Lays out messages with the template's other variables.
  Result<ChatText> lay_out(const Json& messages, const Variables& given) const;

  std::shared_ptr<const LanguageModel> loaded_;
  std::shared_ptr<Runner> runner_;
  std::string name_;
  ChatLayout layout_;
  SamplerOptions sampling_;
};

}  // namespace kinglet
