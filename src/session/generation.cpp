#include "session/generation.h"

#include <algorithm>
#include <utility>

#include "base/format.h"

namespace kinglet {

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::none:
      return "none";
    case FinishReason::stop:
      return "stop";
    case FinishReason::length:
      return "length";
    case FinishReason::context:
      return "context";
    case FinishReason::cancelled:
      return "cancelled";
  }
  return "unknown";
}

namespace {

// Whether the answer stands where encode() puts a space in front of plain text.
bool follows_added_token(const Session& session, const Tokenizer& tokenizer,
                         std::span<const TokenId> prompt) {
  const TokenId last = prompt.empty() ? session.tokens().back() : prompt.back();
  return tokenizer.vocabulary().contains(last) && tokenizer.vocabulary().is_added(last);
}

}  // namespace

Result<Generation> Generation::start(Session& session, const Tokenizer& tokenizer,
                                     std::vector<TokenId> prompt,
                                     const GenerationOptions& options) {
  KINGLET_TRY(validate(options.sampler, session.model().config().vocab_size));
  if (options.max_tokens == 0) {
    return Error{ErrorCode::invalid_argument, "0 tokens were asked for, expected 1 or more"};
  }
  if (options.n_logprobs.value_or(0) > kMaxLogprobs) {
    return Error{ErrorCode::invalid_argument, cat(*options.n_logprobs, " log probabilities were ",
                                                  "asked for, expected 0 to ", kMaxLogprobs)};
  }
  if (prompt.empty() && (options.replaces_context || session.n_positions() == 0)) {
    return Error{ErrorCode::invalid_argument, "the prompt is empty: there is nothing to continue"};
  }
  if (options.shifts_context && options.n_kept >= session.n_ctx()) {
    return Error{ErrorCode::invalid_argument,
                 cat("a full context is to keep its first ", options.n_kept,
                     " tokens, but holds only ", session.n_ctx())};
  }
  const uint32_t n_before = options.replaces_context ? 0 : session.n_positions();
  const uint32_t room = session.n_ctx() - n_before;
  if (prompt.size() > room) {
    return Error{ErrorCode::prompt_too_long,
                 cat("the prompt has ", prompt.size(), " tokens, but the context has room for ",
                     room, " (it holds ", n_before, " of ", session.n_ctx(), " positions)")};
  }
  KINGLET_ASSIGN(StopStrings stop, StopStrings::create(options.stop));
  if (prompt.empty()) KINGLET_TRY(session.recompute_logits());
  const uint32_t n_known = options.replaces_context ? session.keep_prefix(prompt) : 0;
  session.keep_checkpoint();  // a cancelled prompt is taken back
  Generation generation(session, tokenizer, std::move(prompt), options, std::move(stop));
  generation.n_prompt_done_ = n_known;
  return generation;
}

Generation::Generation(Session& session, const Tokenizer& tokenizer, std::vector<TokenId> prompt,
                       const GenerationOptions& options, StopStrings stop)
    : session_(&session),
      tokenizer_(&tokenizer),
      prompt_(std::move(prompt)),
      n_before_(session.n_positions()),
      max_tokens_(options.max_tokens),
      replaces_context_(options.replaces_context),
      shifts_context_(options.shifts_context),
      n_kept_(options.n_kept),
      cancellation_(options.cancellation),
      sampler_(options.sampler, session.model().config().vocab_size, session.model().kernels()),
      decoder_(tokenizer, follows_added_token(session, tokenizer, prompt_)),
      stop_(std::move(stop)) {
  if (options.grammar != nullptr) {
    constraint_.emplace(options.grammar, tokenizer,
                        follows_added_token(session, tokenizer, prompt_));
  }
  for (const TokenId token : session.tokens()) sampler_.accept(token);
  if (options.n_logprobs) {
    logprobs_.emplace(session.model().config().vocab_size, *options.n_logprobs,
                      session.model().kernels());
  }
}

Result<GenerationStep> Generation::step(uint32_t max_batch) {
  auto step = advance(max_batch);
  if (step.ok() || step.error().code != ErrorCode::cancelled) return step;
  KINGLET_TRY(cancel());
  return finish(FinishReason::cancelled);
}

Result<GenerationStep> Generation::advance(uint32_t max_batch) {
  if (n_prompt_done_ < prompt_.size()) {
    KINGLET_TRY(read_prompt(max_batch));
    return new_step();
  }
  const bool is_complete = stop_.found() || (constraint_ && constraint_->is_finished());
  if (is_complete) return finish(FinishReason::stop);
  if (n_generated_ == max_tokens_) return finish(FinishReason::length);
  if (last_token_ != kNoToken) {
    if (session_->n_positions() == session_->n_ctx()) {
      if (!shifts_context_) return finish(FinishReason::context);
      KINGLET_TRY(make_room());
    }
    KINGLET_TRY(session_->append({&last_token_, 1}, Output::logits, cancellation_));
    last_token_ = kNoToken;
  }
  GenerationStep step = draw();
  if (step.token == kNoToken) return constraint_->dead_end();
  if (tokenizer_->is_end_of_generation(step.token)) return finish(FinishReason::stop);
  if (constraint_) constraint_->accept(step.token);
  sampler_.accept(step.token);
  last_token_ = step.token;
  ++n_generated_;
  step.text = stop_.next(decoder_.next(step.token));
  return step;
}

Status Generation::read_prompt(uint32_t max_batch) {
  const size_t n_left = prompt_.size() - n_prompt_done_;
  const auto batch = std::span<const TokenId>(prompt_).subspan(
      n_prompt_done_, std::min({n_left, size_t{session_->n_batch()}, size_t{max_batch}}));
  const Output output = batch.size() == n_left ? Output::logits : Output::none;
  Status status = session_->append(batch, output, cancellation_);
  if (!status.ok()) {
    KINGLET_TRY(cancel());
    return status;
  }
  for (const TokenId token : batch) sampler_.accept(token);
  n_prompt_done_ += batch.size();
  if (n_prompt_done_ == prompt_.size()) session_->keep_checkpoint();
  return {};
}

GenerationStep Generation::new_step() const {
  GenerationStep step;
  step.n_prompt_done = n_prompt_done();
  return step;
}

// The logits are measured before the sampler changes them.
GenerationStep Generation::draw() {
  GenerationStep step = new_step();
  if (logprobs_) {
    logprobs_->measure(session_->logits());
    step.top.assign(logprobs_->top().begin(), logprobs_->top().end());
  }
  step.token = sampler_.sample(session_->logits(), constraint_ ? &*constraint_ : nullptr);
  if (logprobs_ && step.token != kNoToken) step.logprob = logprobs_->of(step.token);
  return step;
}

// By halves, as each shift rounds the keys of some kinds once more.
Status Generation::make_room() {
  const uint32_t n_movable = session_->n_positions() - n_kept_;
  return session_->shift(n_kept_, (n_movable + 1) / 2);
}

Status Generation::cancel() {
  if (n_prompt_done_ == prompt_.size()) return append_last_token();
  return replaces_context_ ? Status() : session_->truncate(n_before_);
}

Status Generation::append_last_token() {
  if (replaces_context_ || last_token_ == kNoToken) return {};
  if (session_->n_positions() == session_->n_ctx()) return {};
  return session_->append({&last_token_, 1}, Output::none);
}

Result<GenerationStep> Generation::finish(FinishReason reason) {
  GenerationStep step = new_step();
  step.finish = reason;
  if (reason != FinishReason::cancelled) KINGLET_TRY(append_last_token());
  session_->keep_checkpoint();  // the next turn may begin here
  step.text = stop_.next(decoder_.finish());
  step.text += stop_.finish();
  return step;
}

}  // namespace kinglet
