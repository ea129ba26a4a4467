// The generation loop, one step at a time, so that whoever runs it can stop between any two.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

std::string_view finish_reason_name(FinishReason reason);  // "stop", "length", "context", "none"

struct GenerationOptions {
  uint32_t max_tokens = 256;
  SamplerOptions sampler;
};

struct GenerationStep {
  uint32_t n_prompt_done = 0;  // prompt tokens computed so far
  TokenId token = kNoToken;    // the token drawn in this step; none while the prompt is computed
  std::string text;            // whole UTF-8 characters that are now certain; may be empty
  FinishReason finish = FinishReason::none;  // the last step carries no token, perhaps text
};

class Generation {
 public:
  // Continues `session`, which must outlive the generation, with `prompt` (at least one token).
  // ErrorCode::prompt_too_long, invalid_argument.
  static Result<Generation> start(Session& session, const Tokenizer& tokenizer,
                                  std::vector<TokenId> prompt, const GenerationOptions& options);

  // Computes the next batch of the prompt, or draws one token. Not to be called after finish.
  Result<GenerationStep> step();

 private:
  Session* session_ = nullptr;
};

}  // namespace kinglet
