// The generation loop, one step at a time, so that whoever runs it can stop between any two.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/sampler.h"
#include "session/session.h"
#include "text/tokenizer.h"

namespace kinglet {

enum class FinishReason : uint8_t {
  none,     // more is to come
  stop,     // the model ended its answer
  length,   // max_tokens were generated
  context,  // the context is full
};

std::string_view finish_reason_name(FinishReason reason);  // "none", "stop", "length", "context"

struct GenerationOptions {
  uint32_t max_tokens = 256;
  SamplerOptions sampler;
};

struct GenerationStep {
  uint32_t n_prompt_done = 0;  // prompt tokens computed so far
  TokenId token = kNoToken;    // the token drawn in this step; none while the prompt is computed
  std::string text;            // whole UTF-8 characters that are now certain; may be empty
  FinishReason finish = FinishReason::none;  // set by the last step, which carries no token
};

class Generation {
 public:
  // Continues `session` with `prompt`, at least one token; session and tokenizer must outlive the
  // generation. ErrorCode::prompt_too_long; invalid_argument (an option, no prompt).
  static Result<Generation> start(Session& session, const Tokenizer& tokenizer,
                                  std::vector<TokenId> prompt, const GenerationOptions& options);

  // Computes the next batch of the prompt, or draws one token. Not to be called after finish.
  Result<GenerationStep> step();

 private:
  Generation(Session& session, const Tokenizer& tokenizer, std::vector<TokenId> prompt,
             const GenerationOptions& options);

  GenerationStep finish(FinishReason reason);

  Session* session_;
  const Tokenizer* tokenizer_;
  std::vector<TokenId> prompt_;
  size_t n_prompt_done_ = 0;
  uint32_t max_tokens_;
  uint32_t n_generated_ = 0;
  TokenId last_token_ = kNoToken;  // drawn, but not yet appended to the session
  Sampler sampler_;
  StreamDecoder decoder_;
};

}  // namespace kinglet
