// Writes the answer of OpenAI's Responses API: the events of a stream, and the whole response.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"
#include "openai/answer_writer.h"
#include "openai/response_output.h"
#include "openai/response_request.h"

namespace kinglet::openai {

// The answer to POST /v1/responses. The request must outlive the writer.
class ResponseWriter : public AnswerWriter {
 public:
  ResponseWriter(const ResponseRequest& request, const Tokenizer& tokenizer);

  Json whole() const override { return response_; }

  // Each event names its type; a mark of the end is not sent.
  std::string event(const Json& chunk) const override;
  std::string error_event(const ApiError& error) const override;
  std::string last_events() const override { return ""; }

 private:
  void begin(const GenerationPrompt& prompt, uint32_t index, std::vector<Json>& chunks) override;
  void add(const AnswerEvent& event, std::vector<Json>& chunks) override;
  void end(bool is_cut, std::vector<Json>& chunks);
  void tell_response(std::string_view type, std::vector<Json>& chunks) const;
  void number(size_t n_known, std::vector<Json>& chunks);

  Json response_;
  ResponseOutput output_;
  uint64_t n_events_ = 0;
};

}  // namespace kinglet::openai
