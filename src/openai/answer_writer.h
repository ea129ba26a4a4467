// Writes the steps of generations as answers of OpenAI's API: as chunks while the steps arrive, and
// as one whole answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/chat_answer.h"
#include "json/json.h"
#include "openai/generation_request.h"
#include "session/generation.h"
#include "text/tokenizer.h"

namespace kinglet::openai {

// Returns random letters and digits. Mistral's template requires ids of calls to have nine.
std::string random_name(size_t length);

// The counts of all choices. A prompt counts once, however many choices it has.
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

  // Begins a choice. Choices are written one after the other.
  void begin_choice(const GenerationPrompt& prompt, bool is_first_of_prompt, uint32_t index,
                    std::vector<Json>& chunks);

  // Adds the next step of the choice to the answer and to `chunks`. `n_cached`: tokens of the
  // prompt that were not computed again.
  void read(const GenerationStep& step, uint32_t n_cached, std::vector<Json>& chunks);

  // The whole answer.
  Json whole() const;

  // The chunk that reports the usage of a stream.
  Json usage_chunk() const;

  const Usage& usage() const { return usage_; }

 protected:
  AnswerWriter(const GenerationRequest& request, const Tokenizer& tokenizer, std::string_view id,
               std::string_view object, std::string_view chunk_object);

  virtual void begin(const GenerationPrompt& prompt, std::vector<Json>& chunks) = 0;
  virtual void add(const GenerationStep& step, std::vector<Json>& chunks) = 0;

  const GenerationRequest& request() const { return request_; }
  bool measures() const { return request_.options.n_logprobs.has_value(); }
  uint32_t index() const { return index_; }
  Json& choice() { return choices_.as_array().back(); }
  Json chunk(Json choice) const;

  // The vocabulary's text of a token, which may be part of a character or not be in the answer; and
  // the token as JSON: its text, its bytes and its logprob.
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
  GenerationStep last_;  // the counts of this choice's last step
  bool counts_cached_ = false;
};

// The answer to POST /v1/chat/completions. The request must outlive the writer.
class ChatWriter : public AnswerWriter {
 public:
  ChatWriter(const ChatRequest& request, const Tokenizer& tokenizer);

 private:
  void begin(const GenerationPrompt& prompt, std::vector<Json>& chunks) override;
  void add(const GenerationStep& step, std::vector<Json>& chunks) override;
  Json add_delta(const AnswerDelta& added);
  Json add_call(const CallDelta& added);

  const ChatRequest& chat_;
  std::optional<ChatAnswer> answer_;
  Json logprobs_ = Json::array();  // of the tokens read since the last chunk
};

// The answer to POST /v1/completions. The request must outlive the writer.
class CompletionWriter : public AnswerWriter {
 public:
  CompletionWriter(const GenerationRequest& request, const Tokenizer& tokenizer);

 private:
  void begin(const GenerationPrompt& prompt, std::vector<Json>& chunks) override;
  void add(const GenerationStep& step, std::vector<Json>& chunks) override;
  Json no_logprobs() const;
  void tell(const std::string& text, Json logprobs, Json finish, std::vector<Json>& chunks);

  size_t offset_ = 0;  // characters of the echo and of the tokens so far
};

}  // namespace kinglet::openai
