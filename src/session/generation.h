// The generation loop, one step at a time, so that the caller can stop between two steps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "grammar/grammar.h"
#include "session/constraint.h"
#include "session/logprobs.h"
#include "session/prompt_lookup.h"
#include "session/sampler.h"
#include "session/session.h"
#include "session/stop_strings.h"
#include "text/tokenizer.h"

namespace kinglet {

enum class FinishReason : uint8_t {
  none,       // not finished
  stop,       // the model or a stop string ended the answer
  length,     // max_tokens were generated
  context,    // the context is full
  cancelled,  // see GenerationOptions
};

std::string_view finish_reason_name(FinishReason reason);  // "none", "stop", …

struct GenerationOptions {
  // Long enough for an answer with a thought. OpenAI's API has defaults of its own: a chat may fill
  // the context, and a completion has 16 tokens.
  uint32_t max_tokens = 2048;
  SamplerOptions sampler;
  // The whole answer must match this, unless max_tokens cuts it: only tokens that fit are sampled,
  // and the answer ends where nothing can follow. Null: any text.
  SharedGrammar grammar;
  std::vector<std::string> stop;       // strings that end the text and are not part of it; UTF-8
  std::vector<std::string> marks;      // control tokens that appear in the text; others do not
  std::optional<uint32_t> n_logprobs;  // compute log probabilities, and of that many best tokens
  // Read the prompt for its own sake; it must replace the context. max_tokens may be 0, and with
  // n_logprobs the prompt is computed whole, and those of its tokens are computed, too.
  bool measures_prompt = false;
  // The prompt is the whole context: a common prefix with the session's context is not computed
  // again, and the rest of that context is dropped.
  bool replaces_context = false;
  // The pictures whose rows are in the prompt: see AppendOptions.
  std::vector<SharedImage> images;
  // How many first tokens of the prompt are its system messages and tools; 0: unknown. Later
  // prompts may begin with them, too: see PromptCache.
  uint32_t n_opening = 0;
  // When the context is full, or has no room for the prompt, drop the older half of what comes
  // after its first n_kept tokens, and go on.
  bool shifts_context = false;
  uint32_t n_kept = 0;
  // The most tokens that are guessed at once if the context repeats itself: see prompt_lookup.h.
  // The answer is the same with any number.
  uint32_t n_lookup = kMostGuesses;
  // Ends the generation in the middle of a step. That step is undone; it is the last.
  Cancellation cancellation;
};

constexpr uint32_t kMaxLogprobs = 100;

// Log probabilities at the place of a token: of itself, and of the best tokens there (their
// `weight`). None for the first token of a context.
struct MeasuredToken {
  TokenId token;
  std::optional<float> logprob = {};
  std::vector<Candidate> top = {};
};

struct GenerationStep {
  uint32_t n_prompt_done = 0;  // prompt tokens computed so far, or found in the context
  uint32_t n_computed = 0;     // tokens computed in this step, without guesses
  TokenId token = kNoToken;    // the token sampled in this step; none while the prompt is computed
  uint32_t n_guessed = 0;      // tokens that were guessed and computed ahead so far
  uint32_t n_accepted = 0;     // … of them, those that were sampled: their steps cost nothing
  uint32_t n_dropped = 0;      // tokens that a full context dropped so far
  std::string text;            // complete UTF-8 characters that are now certain; may be empty
  std::string held;            // further ones, which may begin a stop string
  // The last byte of the token is the last one of a character that is shown.
  bool ends_character = false;
  // With n_logprobs: of the sampled token, and of the best tokens (their `weight`).
  float logprob = 0;
  std::vector<Candidate> top;
  std::vector<MeasuredToken> prompt;         // the next tokens of a prompt that is measured
  FinishReason finish = FinishReason::none;  // set by the last step, which carries no token

  bool is_last() const { return finish != FinishReason::none; }
};

// At the end, the session contains the prompt and the sampled tokens, as far as they fit. The last
// one is not computed: the next prompt computes it together with its own tokens.
class Generation {
 public:
  // Continues the context of `session` with `prompt`, which may be empty. Session and tokenizer
  // must outlive the generation. ErrorCode::prompt_too_long; invalid_argument (an option, or both
  // context and prompt are empty); unsupported_feature (a model whose context cannot be shifted).
  static Result<Generation> start(Session& session, const Tokenizer& tokenizer,
                                  const std::vector<TokenId>& prompt,
                                  const GenerationOptions& options);

  // Computes a batch of at most max_batch > 0 tokens of the prompt, or samples one token. Must not
  // be called after the last step. Errors: those of Session::append; grammar_dead_end.
  Result<GenerationStep> step(uint32_t max_batch = UINT32_MAX);

  // Lets the next steps sample this token where the grammar allows it; kNoToken: any token.
  void force(TokenId token) { forced_ = token; }

  // Ends the generation early. Returns its last step, with the text that was held back. Must not be
  // called after the last step. Errors: those of Session::abandon().
  Result<GenerationStep> cancel();

  // Prompt tokens computed so far, or found in the context.
  uint32_t n_prompt_done() const { return n_prompt_done_; }

  // Whether the next step samples a token. The caller may then compute the token that is left
  // before it, with Session::compute_together().
  bool draws_next() const;

 private:
  Generation(Session& session, const Tokenizer& tokenizer, uint32_t n_prompt, uint32_t n_dropped,
             const GenerationOptions& options, StopStrings stop);

  Result<GenerationStep> advance(uint32_t max_batch);
  bool is_complete() const { return stop_.found() || (constraint_ && constraint_->is_finished()); }
  Result<GenerationStep> read_prompt(uint32_t max_batch);
  void measure_prompt(uint32_t n_computed, std::vector<MeasuredToken>& measured);
  GenerationStep new_step() const;
  Status compute_drawn();
  Status look_ahead();
  Status draw(GenerationStep& step);
  TokenId draw_token();
  GenerationStep finish(FinishReason reason);
  Status keep(TokenId token);
  Status make_room();

  Session* session_;
  const Tokenizer* tokenizer_;
  uint32_t n_prompt_;
  uint32_t n_prompt_done_;
  bool is_reading_ = true;
  bool measures_prompt_;
  uint32_t max_tokens_;
  uint32_t n_generated_ = 0;
  uint32_t n_guessed_ = 0;
  uint32_t n_accepted_ = 0;
  uint32_t n_dropped_ = 0;
  bool shifts_context_;
  uint32_t n_kept_;
  TokenId forced_ = kNoToken;
  bool is_full_ = false;  // the sampled token has no room in the context
  Cancellation cancellation_;
  PromptLookup lookup_;
  Sampler sampler_;
  std::optional<Constraint> constraint_;
  std::optional<Logprobs> logprobs_;
  StreamDecoder decoder_;
  StopStrings stop_;
};

}  // namespace kinglet
