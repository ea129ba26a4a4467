// What a client asks to be written, read from its JSON and checked: requests that come this far
// can only fail for want of memory, or of words that fit a grammar.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/api_error.h"
#include "server/job.h"
#include "server/json.h"
#include "server/served_model.h"
#include "session/generation.h"
#include "text/answer/answer_reader.h"

namespace kinglet::server {

constexpr int64_t kMostChoices = 128;
constexpr size_t kMostPrompts = 128;

struct GenerationPrompt {
  std::vector<TokenId> tokens;
  std::string echo;  // text to begin the answer with
};

struct GenerationRequest {
  std::string model;                      // as the client calls it
  std::vector<GenerationPrompt> prompts;  // of a conversation: one
  uint32_t n_choices = 1;                 // for each of them, one after the other
  GenerationOptions options;              // of the first choice
  bool has_seed = false;                  // without one every choice draws its own
  bool streams = false;
  bool includes_usage = false;  // in a stream
};

struct ChatRequest : GenerationRequest {
  AnswerFormat format;
  std::vector<KnownTool> tools;  // that the answer may call
  std::string prompt_text;       // see AnswerReader
  uint32_t n_calls_most = UINT32_MAX;
};

// What the model is to see of a picture, given as the bytes of a file; empty: it reads none.
using Look = std::function<ApiResult<PictureJob::Parts>(const std::string& file)>;

// POST /v1/chat/completions
ApiResult<ChatRequest> read_chat_request(const Json& body, const ServedModel& model,
                                         const Look& look);

// POST /v1/completions
ApiResult<GenerationRequest> read_completion_request(const Json& body, const ServedModel& model);

// Of the choice with that index: those of the first, with a seed of its own.
GenerationOptions options_of_choice(const GenerationRequest& request, uint32_t choice);

}  // namespace kinglet::server
