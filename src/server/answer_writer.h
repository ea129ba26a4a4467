// Answers as OpenAI's API has them, made of the steps of generations: in chunks while they arrive,
// and whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/generation_request.h"
#include "server/job.h"
#include "server/json.h"
#include "text/answer/answer_reader.h"
#include "text/tokenizer.h"

namespace kinglet::server {

// Letters and digits. Mistral's template wants the ids of calls to be nine of them.
std::string random_name(size_t length);

// Of all choices. A prompt counts once.
struct Usage {
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;
  uint64_t completion_tokens = 0;
  uint64_t guessed_tokens = 0;
  uint64_t kept_guesses = 0;

  Json to_json() const;
};

class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;

  // Choices are written one after the other.
  void begin_choice(const GenerationPrompt& prompt, bool is_first_of_prompt, uint32_t index,
                    std::vector<Json>& chunks);

  // Adds to the answer, and to `chunks`, what the next step of the choice brings.
  void read(const GenerationEvent& event, std::vector<Json>& chunks);

  // All of the answer.
  Json whole() const;

  // The chunk that tells what a stream took.
  Json usage_chunk() const;

  const Usage& usage() const { return usage_; }

 protected:
  AnswerWriter(const GenerationRequest& request, const Tokenizer& tokenizer, std::string_view id,
               std::string_view object, std::string_view chunk_object);

  virtual void begin(const GenerationPrompt& prompt, std::vector<Json>& chunks) = 0;
  virtual void add(const GenerationEvent& event, std::vector<Json>& chunks) = 0;

  const GenerationRequest& request() const { return request_; }
  bool measures() const { return request_.options.n_logprobs.has_value(); }
  uint32_t index() const { return index_; }
  Json& choice() { return choices_.back(); }
  Json chunk(Json choice) const;

  // A token's text, and its bytes as JSON.
  std::string token_text(TokenId token) const;
  Json token_logprob(TokenId token, float logprob) const;

 private:
  Json head(std::string_view object) const;

  const GenerationRequest& request_;
  const Tokenizer& tokenizer_;
  std::string id_;
  int64_t created_;
  std::string object_;
  std::string chunk_object_;
  uint32_t index_ = 0;
  Json choices_ = Json::array();
  Usage usage_;
  GenerationStep last_;  // of this choice: its counts
  bool counts_cached_ = false;
};

// POST /v1/chat/completions. The request must outlive it.
class ChatWriter : public AnswerWriter {
 public:
  ChatWriter(const ChatRequest& request, const Tokenizer& tokenizer);

 private:
  void begin(const GenerationPrompt& prompt, std::vector<Json>& chunks) override;
  void add(const GenerationEvent& event, std::vector<Json>& chunks) override;
  Json delta_of(const std::vector<AnswerPart>& parts);
  void add_call(const AnswerPart& part, Json& delta);

  const ChatRequest& chat_;
  std::optional<AnswerReader> reader_;
  uint32_t n_calls_ = 0;           // begun, those included that are not told
  Json logprobs_ = Json::array();  // of the tokens read since the last chunk
};

// POST /v1/completions. The request must outlive it.
class CompletionWriter : public AnswerWriter {
 public:
  CompletionWriter(const GenerationRequest& request, const Tokenizer& tokenizer);

 private:
  void begin(const GenerationPrompt& prompt, std::vector<Json>& chunks) override;
  void add(const GenerationEvent& event, std::vector<Json>& chunks) override;
  Json no_logprobs() const;
  void tell(const std::string& text, Json logprobs, Json finish, std::vector<Json>& chunks);

  size_t offset_ = 0;  // characters of the choice so far
};

}  // namespace kinglet::server
