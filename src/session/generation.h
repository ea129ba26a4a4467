// The generation loop, one step at a time, so that whoever runs it can stop between any two.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "session/constraint.h"
#include "session/grammar.h"
#include "session/logprobs.h"
#include "session/prompt_lookup.h"
#include "session/sampler.h"
#include "session/session.h"
#include "session/stop_strings.h"
#include "text/tokenizer.h"

namespace kinglet {

enum class FinishReason : uint8_t {
  none,       // more is to come
  stop,       // the model ended its answer, or a stop string did
  length,     // max_tokens were generated
  context,    // the context is full
  cancelled,  // see GenerationOptions
};

std::string_view finish_reason_name(FinishReason reason);  // "none", "stop", …

struct GenerationOptions {
  uint32_t max_tokens = 256;
  SamplerOptions sampler;
  // What the whole answer must match, unless its length is cut: only tokens that fit are drawn, and
  // the answer ends where nothing can follow. Null: any text.
  std::shared_ptr<const Grammar> grammar;
  std::vector<std::string> stop;       // end the text, and are not part of it; UTF-8
  std::vector<std::string> marks;      // control tokens that are told as text; others are not
  std::optional<uint32_t> n_logprobs;  // measure them, of so many of the best tokens too
  // The prompt is the whole context: what the session holds and the prompt does not begin with is
  // forgotten, the rest is not computed again.
  bool replaces_context = false;
  // Pictures that the prompt has rows of: see AppendOptions.
  std::vector<SharedImage> images;
  // A full context drops the older half of what comes after its first n_kept tokens, and goes on;
  // so does one that has no room for the prompt.
  bool shifts_context = false;
  uint32_t n_kept = 0;
  // Tokens that are guessed at a time, at most, where the context repeats itself; see
  // prompt_lookup.h. The answer is the same with any number.
  uint32_t n_lookup = kMostGuesses;
  // Ends the generation in the middle of a step: that step is undone, and the last.
  Cancellation cancellation;
};

constexpr uint32_t kMaxLogprobs = 100;

struct GenerationStep {
  uint32_t n_prompt_done = 0;  // prompt tokens computed so far, or found in the context
  uint32_t n_computed = 0;   // tokens in this step: of the prompt, the last one drawn, others left
  TokenId token = kNoToken;  // the token drawn in this step; none while the prompt is computed
  uint32_t n_guessed = 0;    // tokens that were guessed and computed ahead so far
  uint32_t n_kept = 0;       // … of which so many were drawn, so that their steps cost nothing
  uint32_t n_dropped = 0;    // tokens that a full context dropped so far
  std::string text;          // whole UTF-8 characters that are now certain; may be empty
  // Where they are measured: of the token drawn, and of the best, whose weights they are.
  float logprob = 0;
  std::vector<Candidate> top;
  FinishReason finish = FinishReason::none;  // set by the last step, which carries no token
};

// The session ends up with the prompt and the tokens drawn, as far as they fit. The last of them is
// not computed: the next prompt does that together with its own.
class Generation {
 public:
  // Continues `session` with `prompt`; without tokens, where its context ends. Session and
  // tokenizer must outlive the generation. ErrorCode::prompt_too_long; invalid_argument (an option,
  // nothing to continue); unsupported_feature (a model whose context cannot be shifted).
  static Result<Generation> start(Session& session, const Tokenizer& tokenizer,
                                  const std::vector<TokenId>& prompt,
                                  const GenerationOptions& options);

  // Computes a batch of the prompt, of at most max_batch > 0 tokens, or draws one token. Not to be
  // called after finish. Errors: those of Session::append; grammar_dead_end.
  Result<GenerationStep> step(uint32_t max_batch = UINT32_MAX);

  // Ends it before its finish: the last step, with the text that was held back. Not to be called
  // after finish. Errors: those of Session::abandon().
  Result<GenerationStep> cancel();

  // Prompt tokens computed so far, or found in the context.
  uint32_t n_prompt_done() const { return n_prompt_done_; }

  // Whether the next step draws a token. What is left to compute before it may then be computed
  // elsewhere: see Session::compute_together().
  bool draws_next() const;

 private:
  Generation(Session& session, const Tokenizer& tokenizer, uint32_t n_prompt, uint32_t n_dropped,
             const GenerationOptions& options, StopStrings stop);

  Result<GenerationStep> advance(uint32_t max_batch);
  bool is_complete() const { return stop_.found() || (constraint_ && constraint_->is_finished()); }
  Result<GenerationStep> read_prompt(uint32_t max_batch);
  GenerationStep new_step() const;
  Status compute_drawn();
  Status look_ahead();
  Status draw(GenerationStep& step);
  GenerationStep finish(FinishReason reason);
  Status keep(TokenId token);
  Status make_room();

  Session* session_;
  const Tokenizer* tokenizer_;
  uint32_t n_prompt_;
  uint32_t n_prompt_done_;
  bool is_reading_ = true;
  uint32_t max_tokens_;
  uint32_t n_generated_ = 0;
  uint32_t n_guessed_ = 0;
  uint32_t n_guesses_kept_ = 0;
  uint32_t n_dropped_ = 0;
  bool shifts_context_;
  uint32_t n_kept_;
  bool is_full_ = false;  // the token drawn has no place in the context
  Cancellation cancellation_;
  PromptLookup lookup_;
  Sampler sampler_;
  std::optional<Constraint> constraint_;
  std::optional<Logprobs> logprobs_;
  StreamDecoder decoder_;
  StopStrings stop_;
};

}  // namespace kinglet
