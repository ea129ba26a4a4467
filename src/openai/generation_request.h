// Requests for generated text, read from a client's JSON and checked. After these checks, a request
// can fail only if memory runs out, or if no token fits a grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "chat/answer_plan.h"
#include "json/json.h"
#include "openai/api_error.h"
#include "openai/deadline.h"
#include "openai/served_model.h"
#include "session/generation.h"
#include "vision/image_part.h"

namespace kinglet::openai {

constexpr int64_t kMostChoices = 128;
constexpr size_t kMostPrompts = 128;

struct GenerationPrompt {
  std::vector<TokenId> tokens;
  std::string echo;  // text to begin the answer with
};

struct GenerationRequest {
  std::string model;                      // as the client calls it
  std::vector<GenerationPrompt> prompts;  // a conversation has one
  uint32_t n_choices = 1;                 // for each prompt, made one after the other
  GenerationOptions options;              // of the first choice
  AnswerPlan answer;
  bool has_seed = false;  // if false, every choice has a random seed of its own
  bool streams = false;
  bool includes_usage = false;             // a stream ends with a chunk of its usage
  std::vector<std::string> warnings = {};  // about the request, for the log
};

// Returns the parts that show each picture to the model, given their URLs. Null: the model reads no
// pictures.
using ReadPictures =
    std::function<ApiResult<PartsOfPictures>(const std::vector<std::string>& urls)>;

// POST /v1/chat/completions
ApiResult<GenerationRequest> read_chat_request(const Json& body, const ServedModel& model,
                                               const ReadPictures& read_pictures,
                                               const Deadline& deadline = {});

// Returns the tokens of the request's prompt, which may be longer than the context
// (POST /v1/chat/completions/input_tokens).
ApiResult<size_t> count_chat_tokens(const Json& body, const ServedModel& model,
                                    const ReadPictures& read_pictures,
                                    const Deadline& deadline = {});

// POST /v1/completions
ApiResult<GenerationRequest> read_completion_request(const Json& body, const ServedModel& model,
                                                     const Deadline& deadline = {});

// Returns the options of a choice: those of the first choice, with another seed.
GenerationOptions options_of_choice(const GenerationRequest& request, uint32_t choice);

}  // namespace kinglet::openai
