#include "answers/answer.h"

#include <algorithm>
#include <utility>

#include "base/random_name.h"

namespace kinglet {
namespace {

// Mistral's template requires ids of nine letters and digits.
constexpr size_t kCallIdSize = 9;

}  // namespace

AnswerEvent AnswerEvents::read(GenerationStep step, Clock::time_point begin) {
  reader_.push(step.text, parts_);
  if (step.is_last()) reader_.end(parts_, step.finish != FinishReason::stop);
  if (limit_ && step.token != kNoToken) {
    limit_->accept(step.token, is_thinking_after(step.held), step.ends_character);
  }
  count(step, begin);
  AnswerEvent event{.added = take_parts(),
                    .token = {step.token, {}, std::move(step.top)},
                    .prompt = std::move(step.prompt),
                    .n_computed = step.n_computed,
                    .finish = step.finish};
  if (step.token != kNoToken) event.token.logprob = step.logprob;
  if (!event.added.thought.empty()) counts_.n_thought = counts_.n_generated;
  event.counts = counts_;
  if (!event.is_last() || n_calls_ == 0) return event;
  event.calls_tools = reader_.has_whole_calls(n_calls_most_);
  const bool is_cut = !event.calls_tools && event.finish == FinishReason::stop;
  if (is_cut) event.finish = FinishReason::length;
  return event;
}

void AnswerEvents::count(const GenerationStep& step, Clock::time_point begin) {
  const bool is_prompt = counts_.n_generated == 0 && !step.is_last();
  (is_prompt ? counts_.prompt_seconds : counts_.decode_seconds) +=
      seconds_since(is_prompt ? begin : last_);
  last_ = Clock::now();
  counts_.n_prompt_done = step.n_prompt_done;
  counts_.n_generated += step.token != kNoToken;
  counts_.n_guessed = step.n_guessed;
  counts_.n_accepted = step.n_accepted;
  counts_.n_dropped = step.n_dropped;
}

// Whether the answer is in a thought after `text`, which is not certain yet.
bool AnswerEvents::is_thinking_after(std::string_view text) const {
  if (text.empty()) return reader_.is_thinking();
  AnswerReader ahead = reader_;
  std::vector<AnswerPart> parts;
  ahead.push(text, parts);
  return ahead.is_thinking();
}

AnswerDelta AnswerEvents::take_parts() {
  AnswerDelta delta;
  for (AnswerPart& part : parts_) {
    switch (part.kind) {
      case AnswerPart::Kind::text:
        delta.text += part.text;
        break;
      case AnswerPart::Kind::thought:
        delta.thought += part.text;
        break;
      case AnswerPart::Kind::call:
        delta.calls.push_back({n_calls_++, random_name(kCallIdSize), std::move(part.text), ""});
        break;
      case AnswerPart::Kind::arguments:
        if (delta.calls.empty()) delta.calls.push_back({n_calls_ - 1, "", std::nullopt, ""});
        delta.calls.back().arguments += part.text;
        break;
    }
  }
  parts_.clear();
  std::erase_if(delta.calls, [&](const CallDelta& call) { return call.index >= n_calls_most_; });
  return delta;
}

Result<Answer> Answer::start(Session& session, const Tokenizer& tokenizer,
                             const std::vector<TokenId>& prompt, GenerationOptions options,
                             const AnswerPlan& plan, PromptCache* cache) {
  plan.constrain(options);
  const bool is_whole = options.replaces_context || session.n_positions() == 0;
  if (!is_whole || options.measures_prompt) cache = nullptr;
  if (cache != nullptr && cache->restore(session, prompt)) options.replaces_context = true;
  KINGLET_ASSIGN(Generation generation, Generation::start(session, tokenizer, prompt, options));
  Answer answer(session, std::move(generation), plan);
  if (cache == nullptr) return answer;
  answer.n_stored_ = cache->choose_place(session, options.n_opening);
  if (answer.n_stored_ > 0) answer.cache_ = cache;
  return answer;
}

// The state can only be stored while it is the one after these tokens.
void Answer::store_if_due() {
  if (cache_ == nullptr || session_->n_computed() < n_stored_) return;
  if (session_->n_computed() == n_stored_) cache_->store(*session_);
  cache_ = nullptr;
}

Result<AnswerEvent> Answer::step(uint32_t max_batch) {
  const Clock::time_point begin = Clock::now();
  store_if_due();
  if (cache_ != nullptr) max_batch = std::min(max_batch, n_stored_ - session_->n_computed());
  generation_.force(events_.forced());
  KINGLET_ASSIGN(GenerationStep step, generation_.step(max_batch));
  return events_.read(std::move(step), begin);
}

Result<AnswerEvent> Answer::cancel() {
  KINGLET_ASSIGN(GenerationStep step, generation_.cancel());
  return events_.read(std::move(step));
}

}  // namespace kinglet
