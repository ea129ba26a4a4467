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

Result<Generation> Generation::start(Session& session, const Tokenizer& tokenizer,
                                     std::vector<TokenId> prompt,
                                     const GenerationOptions& options) {
  KINGLET_TRY(validate(options.sampler));
  if (options.max_tokens == 0) {
    return Error{ErrorCode::invalid_argument, "0 tokens were asked for, expected 1 or more"};
  }
  if (prompt.empty()) {
    return Error{ErrorCode::invalid_argument, "the prompt is empty: there is nothing to continue"};
  }
  const uint32_t room = session.n_ctx() - session.n_positions();
  if (prompt.size() > room) {
    return Error{
        ErrorCode::prompt_too_long,
        cat("the prompt has ", prompt.size(), " tokens, but the context has room for ", room,
            " (it holds ", session.n_positions(), " of ", session.n_ctx(), " positions)")};
  }
  return Generation(session, tokenizer, std::move(prompt), options);
}

Generation::Generation(Session& session, const Tokenizer& tokenizer, std::vector<TokenId> prompt,
                       const GenerationOptions& options)
    : session_(&session),
      tokenizer_(&tokenizer),
      prompt_(std::move(prompt)),
      max_tokens_(options.max_tokens),
      sampler_(options.sampler, session.model().config().vocab_size),
      decoder_(tokenizer, tokenizer.vocabulary().contains(prompt_.back()) &&
                              tokenizer.vocabulary().is_added(prompt_.back())) {}

Result<GenerationStep> Generation::step() {
  if (n_prompt_done_ < prompt_.size()) {
    const auto batch = std::span<const TokenId>(prompt_).subspan(
        n_prompt_done_, std::min<size_t>(session_->n_batch(), prompt_.size() - n_prompt_done_));
    const bool is_last = n_prompt_done_ + batch.size() == prompt_.size();
    KINGLET_TRY(session_->append(batch, is_last));
    for (const TokenId token : batch) sampler_.accept(token);
    n_prompt_done_ += batch.size();
    GenerationStep step;
    step.n_prompt_done = static_cast<uint32_t>(n_prompt_done_);
    return step;
  }
  if (n_generated_ == max_tokens_) return finish(FinishReason::length);
  if (last_token_ != kNoToken) {
    if (session_->n_positions() == session_->n_ctx()) return finish(FinishReason::context);
    KINGLET_TRY(session_->append({&last_token_, 1}));
  }
  const TokenId token = sampler_.sample(session_->logits());
  if (tokenizer_->is_end_of_generation(token)) return finish(FinishReason::stop);
  sampler_.accept(token);
  last_token_ = token;
  ++n_generated_;
  GenerationStep step;
  step.n_prompt_done = static_cast<uint32_t>(n_prompt_done_);
  step.token = token;
  step.text = decoder_.next(token);
  return step;
}

GenerationStep Generation::finish(FinishReason reason) {
  GenerationStep step;
  step.n_prompt_done = static_cast<uint32_t>(n_prompt_done_);
  step.text = decoder_.finish();
  step.finish = reason;
  return step;
}

}  // namespace kinglet
