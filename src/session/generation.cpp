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
  KINGLET_TRY(validate(options.sampler));
  if (options.max_tokens == 0) {
    return Error{ErrorCode::invalid_argument, "0 tokens were asked for, expected 1 or more"};
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
  if (prompt.empty()) KINGLET_TRY(session.recompute_logits());
  const uint32_t n_known = options.replaces_context ? session.keep_prefix(prompt) : 0;
  Generation generation(session, tokenizer, std::move(prompt), options);
  generation.n_prompt_done_ = n_known;
  return generation;
}

Generation::Generation(Session& session, const Tokenizer& tokenizer, std::vector<TokenId> prompt,
                       const GenerationOptions& options)
    : session_(&session),
      tokenizer_(&tokenizer),
      prompt_(std::move(prompt)),
      n_before_(session.n_positions()),
      max_tokens_(options.max_tokens),
      replaces_context_(options.replaces_context),
      shifts_context_(options.shifts_context),
      n_kept_(options.n_kept),
      sampler_(options.sampler, session.model().config().vocab_size),
      decoder_(tokenizer, follows_added_token(session, tokenizer, prompt_)) {
  if (options.grammar != nullptr) {
    constraint_.emplace(options.grammar, tokenizer,
                        follows_added_token(session, tokenizer, prompt_));
  }
  for (const TokenId token : session.tokens()) sampler_.accept(token);
}

Result<GenerationStep> Generation::step() {
  if (n_prompt_done_ < prompt_.size()) {
    const auto batch = std::span<const TokenId>(prompt_).subspan(
        n_prompt_done_, std::min<size_t>(session_->n_batch(), prompt_.size() - n_prompt_done_));
    const bool is_last = n_prompt_done_ + batch.size() == prompt_.size();
    if (Status status = session_->append(batch, is_last); !status.ok()) {
      KINGLET_TRY(cancel());
      return status.error();
    }
    for (const TokenId token : batch) sampler_.accept(token);
    n_prompt_done_ += batch.size();
    GenerationStep step;
    step.n_prompt_done = static_cast<uint32_t>(n_prompt_done_);
    return step;
  }
  const bool is_complete = constraint_ && constraint_->is_finished();
  if (is_complete || n_generated_ == max_tokens_) {
    KINGLET_TRY(append_last_token());
    return finish(is_complete ? FinishReason::stop : FinishReason::length);
  }
  if (last_token_ != kNoToken) {
    if (session_->n_positions() == session_->n_ctx()) {
      if (!shifts_context_) return finish(FinishReason::context);
      KINGLET_TRY(make_room());
    }
    KINGLET_TRY(session_->append({&last_token_, 1}));
  }
  const TokenId token = sampler_.sample(session_->logits(), constraint_ ? &*constraint_ : nullptr);
  if (token == kNoToken) return constraint_->dead_end();
  if (tokenizer_->is_end_of_generation(token)) return finish(FinishReason::stop);
  if (constraint_) constraint_->accept(token);
  sampler_.accept(token);
  last_token_ = token;
  ++n_generated_;
  GenerationStep step;
  step.n_prompt_done = static_cast<uint32_t>(n_prompt_done_);
  step.token = token;
  step.text = decoder_.next(token);
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
  return session_->append({&last_token_, 1}, false);
}

GenerationStep Generation::finish(FinishReason reason) {
  GenerationStep step;
  step.n_prompt_done = static_cast<uint32_t>(n_prompt_done_);
  step.text = decoder_.finish();
  step.finish = reason;
  return step;
}

}  // namespace kinglet
