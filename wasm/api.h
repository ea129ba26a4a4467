// Requests of OpenAI's API, for JavaScript. engine.d.ts describes what is bound here.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "answers/runner.h"
#include "base/cancellation.h"
#include "base/result.h"
#include "chat/chat_layout.h"
#include "json/json.h"
#include "openai/api.h"
#include "session/language_model.h"
#include "wasm/prompt.h"
#include "wasm/session.h"
#include "wasm/values.h"

namespace kinglet {

// What answers requests. Requests keep it alive.
struct ApiModel {
  std::shared_ptr<const LanguageModel> loaded;
  std::shared_ptr<const ChatLayout> layout;
  std::shared_ptr<Runner> runner;
  std::string name;  // that clients see
};

class EngineRequest {
 public:
  EngineRequest(ApiModel model, openai::ServedOptions options, const Cancellation& cancellation)
      : model_(std::move(model)),
        served_(*model_.loaded, *model_.layout, std::move(options)),
        cancellation_(cancellation) {}
  EngineRequest(const EngineRequest&) = delete;
  EngineRequest& operator=(const EngineRequest&) = delete;

  // The URLs of the pictures that read() needs.
  val pictures() const { return to_js(urls_); }
  val read(const val& pictures);
  val missing_pictures(const EngineSession& session) const;
  val stored_prompt(const EngineSession& session) const;

  std::string answer() const;
  bool is_stream() const { return text() != nullptr && text()->is_stream(); }
  bool is_done() const;

  // For a request for vectors or scores.
  bool is_encoding() const { return std::holds_alternative<openai::EncodingWork>(asked_); }
  void encode(double id, const val& on_event);

  // For a request for text.
  void begin_choice(EngineSession& session, double id, const val& on_event);
  std::string last_events() const;

  // The rest is for C++.

  // Reads the request. Fails if it has pictures: then they must be read, and read() called.
  openai::ApiStatus begin(const std::string& method, const std::string& path,
                          const std::string& body);
  bool waits_for_pictures() const { return urls_.size() > pictures_.size(); }

 private:
  openai::ApiStatus read();
  openai::TextAnswer* text() { return std::get_if<openai::TextAnswer>(&asked_); }
  const openai::TextAnswer* text() const { return std::get_if<openai::TextAnswer>(&asked_); }
  // Returns the chunks as a stream has them; "" if the answer is not a stream.
  std::string events(const std::vector<Json>& chunks) const;
  // Returns an EngineRequestEvent.
  val read_event(const Result<AnswerEvent>& event);

  const ApiModel model_;
  const openai::ServedModel served_;
  const Cancellation cancellation_;
  std::string_view endpoint_;
  Json body_;
  std::vector<std::string> urls_;
  PartsOfPictures pictures_;
  openai::AnswerOrWork asked_;
  std::vector<Json> waiting_;  // chunks that are sent with the next event
};

// Returns an EngineRequest, or a refusal.
val new_request(ApiModel model, const val& request);

}  // namespace kinglet
