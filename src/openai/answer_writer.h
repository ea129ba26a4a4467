// Writes answers in the form of OpenAI's API: as chunks while their events arrive, and as one whole
// answer. In a stream, chunks are server-sent events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answers/answer.h"
#include "json/json.h"
#include "openai/api_error.h"
#include "openai/generation_request.h"
#include "session/generation.h"
#include "text/tokenizer.h"

namespace kinglet::openai {

// "tool_calls", "stop" or "length": why an answer ended with this event. A full context cuts an
// answer short, as max_tokens does.
std::string_view finish_name(const AnswerEvent& last);

// The counts of all choices. A prompt counts once, however many choices it has.
struct Usage {
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;
  uint64_t completion_tokens = 0;
  uint64_t reasoning_tokens = 0;  // of them, those of thoughts
  uint64_t guessed_tokens = 0;
  uint64_t accepted_guesses = 0;

  Json to_json() const;
};

class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;

  // Begins a choice. Choices are written one after the other.
  void begin_choice(const GenerationPrompt& prompt, bool is_first_of_prompt, uint32_t index,
                    std::vector<Json>& chunks);

  // Adds the next event of the choice to the answer and to `chunks`.
  void read(const AnswerEvent& event, std::vector<Json>& chunks);

  // The whole answer.
  virtual Json whole() const = 0;

  // These write a stream: a chunk, the error that ends it early, and what follows the last chunk.
  virtual std::string event(const Json& chunk) const;
  virtual std::string error_event(const ApiError& error) const;
  virtual std::string last_events() const;

  // With the tokens so far of a choice that is not whole.
  const Usage& usage() const { return usage_; }

 protected:
  // `prefix` begins the answer's id.
  AnswerWriter(const GenerationRequest& request, const Tokenizer& tokenizer,
               std::string_view prefix);

  virtual void begin(const GenerationPrompt& prompt, uint32_t index, std::vector<Json>& chunks) = 0;
  virtual void add(const AnswerEvent& event, std::vector<Json>& chunks) = 0;

  const GenerationRequest& request() const { return request_; }
  const std::string& id() const { return id_; }
  int64_t created() const { return created_; }
  bool measures() const { return request_.options.n_logprobs.has_value(); }
  bool measures_prompt() const { return measures() && request_.options.measures_prompt; }

  // The vocabulary's text of a token, which may be part of a character or not be in the answer.
  std::string token_text(TokenId token) const;
  const Tokenizer& tokenizer() const { return tokenizer_; }

  // Returns the logprobs of the tokens of a conversation since the last event that added something.
  // Returns nullopt if this one adds nothing: its token's logprob then waits for the text.
  std::optional<Json> logprobs_of(const AnswerEvent& event);

 private:
  Json chat_logprob(const MeasuredToken& token) const;
  Json token_logprob(TokenId token, float logprob) const;

  const GenerationRequest& request_;
  const Tokenizer& tokenizer_;
  std::string id_;
  int64_t created_;
  Usage usage_;
  Json waiting_ = Json::array();  // logprobs for the next event that adds something
  bool counts_cached_ = false;
  AnswerCounts counted_;  // of the current choice: those that usage_ has
};

// An answer that is a list of choices.
class ChoicesWriter : public AnswerWriter {
 public:
  Json whole() const override;
  // The chunk of the usage, if it is requested, and the mark of the end.
  std::string last_events() const override;

 protected:
  ChoicesWriter(const GenerationRequest& request, const Tokenizer& tokenizer,
                std::string_view prefix, std::string_view object, std::string_view chunk_object);

  void begin(const GenerationPrompt& prompt, uint32_t index, std::vector<Json>& chunks) final;
  virtual void begin_text(const GenerationPrompt& prompt, std::vector<Json>& chunks) = 0;

  uint32_t index() const { return index_; }
  Json& choice() { return choices_.as_array().back(); }
  Json chunk(Json choice) const;

 private:
  Json head(std::string_view object) const;

  std::string object_;
  std::string chunk_object_;
  uint32_t index_ = 0;
  Json choices_ = Json::array();
};

// The answer to POST /v1/chat/completions. The request must outlive the writer.
class ChatWriter : public ChoicesWriter {
 public:
  ChatWriter(const GenerationRequest& request, const Tokenizer& tokenizer);

 private:
  void begin_text(const GenerationPrompt& prompt, std::vector<Json>& chunks) override;
  void add(const AnswerEvent& event, std::vector<Json>& chunks) override;
  void add_chunk(Json delta, Json finish, Json logprobs, std::vector<Json>& chunks) const;
  Json add_delta(const AnswerDelta& added);
};

// The answer to POST /v1/completions. The request must outlive the writer.
class CompletionWriter : public ChoicesWriter {
 public:
  CompletionWriter(const GenerationRequest& request, const Tokenizer& tokenizer);

 private:
  void begin_text(const GenerationPrompt& prompt, std::vector<Json>& chunks) override;
  void add(const AnswerEvent& event, std::vector<Json>& chunks) override;
  Json no_logprobs() const;
  Json top_logprobs(const std::vector<Candidate>& top) const;
  std::string_view next_of_echo(TokenId token);
  void add_logprob(const std::string& text, const std::optional<float>& logprob,
                   const std::vector<Candidate>& top, Json& logprobs);
  void add_prompt(const std::vector<MeasuredToken>& tokens, std::vector<Json>& chunks);
  void add_chunk(const std::string& text, Json logprobs, Json finish, std::vector<Json>& chunks);

  size_t offset_ = 0;                         // characters of the tokens so far, or of the echo
  const GenerationPrompt* prompt_ = nullptr;  // of the current choice
  Json echoed_ = {};                          // the logprobs of its tokens so far
  size_t n_echoed_ = 0;                       // bytes of the echo that are those of these tokens
};

}  // namespace kinglet::openai
