#include "session/generation.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "model/shift.h"

namespace kinglet {

std::string_view finish_reason_name(FinishReason reason) {
  constexpr std::string_view kNames[] = {"none", "stop", "length", "context", "cancelled"};
  return kNames[static_cast<size_t>(reason)];
}

namespace {

// Whether the answer begins where encode() puts a space in front of plain text.
bool follows_added_token(const Session& session, const Tokenizer& tokenizer) {
  const TokenId last = session.tokens().back();
  return tokenizer.vocabulary().contains(last) && tokenizer.vocabulary().is_added(last);
}

// Returns half of what comes after n_kept, or more if `n_wanted` is more. Shifts are large, hence
// rare, because each one rounds the keys of some kinds again.
uint32_t n_to_drop(const Session& session, uint32_t n_kept, uint32_t n_wanted) {
  const uint32_t n_movable = session.n_positions() - std::min(n_kept, session.n_positions());
  return std::max((n_movable + 1) / 2, n_wanted);
}

Status check_shift(const Session& session, const GenerationOptions& options) {
  if (!options.shifts_context) return {};
  if (options.n_kept >= session.n_ctx()) {
    return Error{ErrorCode::invalid_argument,
                 cat("cannot keep the first ", options.n_kept,
                     " tokens of a full context: it has only ", session.n_ctx())};
  }
  return check_can_shift(session.model());
}

// Makes room for a prompt after the session's context, if the options allow that and it helps.
// Returns the number of tokens dropped.
Result<uint32_t> make_room_for(size_t n_prompt, Session& session,
                               const GenerationOptions& options) {
  const uint32_t room = session.n_ctx() - session.n_positions();
  if (!options.shifts_context || options.replaces_context || n_prompt <= room) return 0u;
  const uint32_t n_computed = session.n_positions() - session.n_left();
  const uint32_t n_most = n_computed - std::min(n_computed, options.n_kept);
  if (n_prompt - room > n_most) return 0u;  // more than can be dropped
  const uint32_t n_wanted = static_cast<uint32_t>(n_prompt) - room;
  const uint32_t n = std::min(n_most, n_to_drop(session, options.n_kept, n_wanted));
  KINGLET_TRY(session.shift(options.n_kept, n));
  return n;
}

}  // namespace

Result<Generation> Generation::start(Session& session, const Tokenizer& tokenizer,
                                     const std::vector<TokenId>& prompt,
                                     const GenerationOptions& options) {
  KINGLET_TRY(validate(options.sampler, session.model().config().vocab_size));
  if (options.max_tokens == 0 && !options.measures_prompt) {
    return Error{ErrorCode::invalid_argument, "0 tokens were requested, expected at least 1"};
  }
  if (options.n_logprobs.value_or(0) > kMaxLogprobs) {
    return Error{ErrorCode::invalid_argument,
                 cat(*options.n_logprobs, " log probabilities were requested, expected 0 to ",
                     kMaxLogprobs)};
  }
  if (prompt.empty() && (options.replaces_context || session.n_positions() == 0)) {
    return Error{ErrorCode::invalid_argument, "the prompt is empty: there is nothing to continue"};
  }
  KINGLET_TRY(check_shift(session, options));
  KINGLET_ASSIGN(StopStrings stop, StopStrings::create(options.stop));
  KINGLET_ASSIGN(const uint32_t n_dropped, make_room_for(prompt.size(), session, options));
  const uint32_t n_before = options.replaces_context ? 0 : session.n_positions();
  const uint32_t room = session.n_ctx() - n_before;
  if (prompt.size() > room) {
    return Error{ErrorCode::prompt_too_long,
                 cat("the prompt has ", prompt.size(), " tokens, but the context has room for ",
                     room, " (it holds ", n_before, " of ", session.n_ctx(), " positions)")};
  }
  if (prompt.empty()) {
    KINGLET_TRY(session.begin_logits(options.cancellation));
  } else {
    KINGLET_TRY(session.begin(
        prompt, {.replaces_context = options.replaces_context,
                 .all_logits = options.measures_prompt && options.n_logprobs.has_value(),
                 .cancellation = options.cancellation,
                 .images = options.images}));
  }
  session.add_checkpoint();  // another prompt may continue from here
  return Generation(session, tokenizer, static_cast<uint32_t>(prompt.size()), n_dropped, options,
                    std::move(stop));
}

Generation::Generation(Session& session, const Tokenizer& tokenizer, uint32_t n_prompt,
                       uint32_t n_dropped, const GenerationOptions& options, StopStrings stop)
    : session_(&session),
      tokenizer_(&tokenizer),
      n_prompt_(n_prompt),
      n_prompt_done_(n_prompt - std::min(n_prompt, session.n_left())),
      measures_prompt_(options.measures_prompt && options.n_logprobs.has_value()),
      max_tokens_(options.max_tokens),
      n_dropped_(n_dropped),
      shifts_context_(options.shifts_context),
      n_kept_(options.n_kept),
      cancellation_(options.cancellation),
      lookup_(session.n_ctx(), options.n_lookup),
      sampler_(options.sampler, session.model().config().vocab_size, session.model().kernels(),
               Dry::create(options.sampler, session.n_ctx(), session.model().config().vocab_size,
                           [&tokenizer](TokenId id) { return tokenizer.piece(id, true); })),
      decoder_(tokenizer, follows_added_token(session, tokenizer), options.marks),
      stop_(std::move(stop)) {
  if (options.grammar != nullptr) {
    constraint_.emplace(options.grammar, tokenizer, follows_added_token(session, tokenizer));
  }
  if (options.n_logprobs) {
    logprobs_.emplace(session.model().config().vocab_size, *options.n_logprobs,
                      session.model().kernels());
  }
}

Result<GenerationStep> Generation::step(uint32_t max_batch) {
  auto step = advance(max_batch);
  if (step.ok() || step.error().code != ErrorCode::cancelled) return step;
  return finish(FinishReason::cancelled);
}

bool Generation::draws_next() const {
  return !is_reading_ && !is_complete() && n_generated_ < max_tokens_ && !is_full_;
}

Result<GenerationStep> Generation::cancel() {
  KINGLET_TRY(session_->abandon());
  return finish(FinishReason::cancelled);
}

Result<GenerationStep> Generation::advance(uint32_t max_batch) {
  if (is_reading_) return read_prompt(max_batch);
  if (is_complete()) return finish(FinishReason::stop);
  if (n_generated_ == max_tokens_) return finish(FinishReason::length);
  if (is_full_) return finish(FinishReason::context);
  // The logits are already computed after the prompt, or by Session::compute_together().
  const bool is_computed = session_->n_left() == 0;
  if (!is_computed) KINGLET_TRY(compute_drawn());
  GenerationStep step = new_step();
  step.n_computed = is_computed ? 0 : 1;
  KINGLET_TRY(draw(step));
  if (tokenizer_->is_end_of_generation(step.token)) return finish(FinishReason::stop);
  if (constraint_) constraint_->accept(step.token);
  sampler_.accept(step.token);
  ++n_generated_;
  KINGLET_TRY(keep(step.token));
  const std::string text = decoder_.next(step.token);
  step.ends_character = !text.empty();
  step.text = stop_.next(text);
  step.held = stop_.held();
  return step;
}

// Computes the logits after the last token that was drawn. An earlier step may have computed them
// with a guess.
Status Generation::compute_drawn() {
  if (cancellation_.requested()) return Error{ErrorCode::cancelled, "cancelled before a step"};
  KINGLET_ASSIGN(const bool was_guessed, session_->take_guess());
  lookup_.draw(was_guessed);
  if (!was_guessed) return look_ahead();
  ++n_accepted_;
  return {};
}

// If a step with guesses fails, tries it again without guesses: they may be the reason.
Status Generation::look_ahead() {
  lookup_.repeat(session_->n_left() - 1);
  const auto guesses = lookup_.guess(session_->tokens(), session_->n_guesses_room());
  const Status status = session_->look_ahead(guesses, cancellation_);
  if (status.ok()) n_guessed_ += static_cast<uint32_t>(guesses.size());
  const bool is_final = status.ok() || status.error().code == ErrorCode::cancelled;
  return is_final || guesses.empty() ? status : session_->look_ahead({}, cancellation_);
}

Result<GenerationStep> Generation::read_prompt(uint32_t max_batch) {
  const uint32_t n_left = session_->n_left();
  KINGLET_TRY(session_->advance(max_batch));
  n_prompt_done_ = n_prompt_ - std::min(n_prompt_, session_->n_left());
  GenerationStep step = new_step();
  step.n_computed = n_left - session_->n_left();
  if (measures_prompt_) measure_prompt(step.n_computed, step.prompt);
  if (session_->n_left() > 0) return step;
  is_reading_ = false;
  for (const TokenId token : session_->tokens()) sampler_.accept(token);
  session_->add_checkpoint();
  return step;
}

// Measures the tokens that follow those that were computed in this step.
void Generation::measure_prompt(uint32_t n_computed, std::vector<MeasuredToken>& measured) {
  const std::span<const TokenId> tokens = session_->tokens();
  const uint32_t begin = session_->n_computed() - n_computed;
  if (begin == 0) measured.push_back({tokens[0]});
  for (uint32_t i = 0; i < n_computed && begin + i + 1 < tokens.size(); ++i) {
    const TokenId token = tokens[begin + i + 1];
    logprobs_->measure(session_->batch_logits(i));
    const auto top = logprobs_->top();
    measured.push_back({token, logprobs_->of(token), {top.begin(), top.end()}});
  }
}

GenerationStep Generation::new_step() const {
  GenerationStep step;
  step.n_prompt_done = n_prompt_done();
  step.n_guessed = n_guessed_;
  step.n_accepted = n_accepted_;
  step.n_dropped = n_dropped_;
  return step;
}

// Log probabilities are computed before the sampler changes the logits.
Status Generation::draw(GenerationStep& step) {
  if (logprobs_) {
    logprobs_->measure(session_->logits());
    step.top.assign(logprobs_->top().begin(), logprobs_->top().end());
  }
  step.token = draw_token();
  if (step.token == kNoToken) return constraint_->dead_end();
  if (logprobs_) step.logprob = logprobs_->of(step.token);
  return {};
}

TokenId Generation::draw_token() {
  if (forced_ != kNoToken && (!constraint_ || constraint_->allows(forced_))) return forced_;
  for (const TokenId id : tokenizer_->vocabulary().suppressed()) {
    session_->logits()[static_cast<size_t>(id)] = kRefusedLogit;
  }
  return sampler_.sample(session_->logits(), constraint_ ? &*constraint_ : nullptr);
}

Status Generation::keep(TokenId token) {
  if (session_->n_positions() == session_->n_ctx()) {
    is_full_ = !shifts_context_ || n_generated_ == max_tokens_;
    if (is_full_) return {};
    KINGLET_TRY(make_room());
  }
  return session_->defer(token);
}

Status Generation::make_room() {
  lookup_.forget();
  const uint32_t n = n_to_drop(*session_, n_kept_, 1);
  KINGLET_TRY(session_->shift(n_kept_, n));
  n_dropped_ += n;
  return {};
}

GenerationStep Generation::finish(FinishReason reason) {
  GenerationStep step = new_step();
  step.finish = reason;
  // If this fails, the next prompt computes the remaining tokens, as after a cancellation.
  if (reason != FinishReason::cancelled) (void)session_->settle();
  session_->add_checkpoint();  // the next turn may begin here
  step.text = stop_.next(decoder_.finish());
  step.text += stop_.finish();
  return step;
}

}  // namespace kinglet
