#include "answers/runner.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/clock.h"
#include "model/cpu_sequence.h"

namespace kinglet {
namespace {

uint32_t pages_of(uint64_t n_positions, uint32_t page) {
  return static_cast<uint32_t>((n_positions + page - 1) / page);
}

}  // namespace

Result<std::unique_ptr<Runner>> Runner::create(const LanguageModel& loaded, ThreadPool& pool,
                                               const RunnerOptions& options) {
  std::unique_ptr<Runner> runner(new Runner(loaded, pool, options));
  if (!options.session) return runner;
  const SequenceOptions& session = *options.session;
  const uint32_t n_positions = std::max(session.n_ctx, options.pool_positions);
  KINGLET_ASSIGN(auto store, make_kv_store(loaded.model, n_positions, session.page_positions,
                                           session.k_kind, session.v_kind));
  // Fails here with any error that every answer's session would have.
  KINGLET_TRY(Session::create_in(store, loaded.model, pool, session));
  runner->sessions_.emplace(loaded.model, pool, std::move(store), session,
                            2 * size_t{options.n_parallel});
  return runner;
}

void Runner::submit(AnswerJob job) {
  if (job.session != nullptr) return begin(std::move(job));
  waiting_.push_back(std::move(job));
}

void Runner::submit(AppendJob job) {
  const Status status =
      job.session->begin(job.tokens, {.cancellation = job.cancellation, .images = job.images});
  if (!status.ok()) return job.deliver(status.error());
  const BatchPace pace(options_.batch_seconds, job.session->n_batch());
  appending_.push_back(std::make_unique<Appending>(std::move(job), pace));
}

void Runner::advance(std::chrono::duration<double> at_most) {
  const Clock::time_point begin = Clock::now();
  do {
    run_round();
  } while (is_busy() && seconds_since(begin) < at_most.count());
}

void Runner::run_round() {
  begin_waiting();
  make_room();
  decode_jointly();
  for (const auto& running : running_) step(*running);
  for (const auto& appending : appending_) append(*appending);
  forget_what_is_over();
  if (encoding_.is_busy()) encoding_.advance();
}

void Runner::forget_what_is_over() {
  std::erase_if(running_, [](const auto& running) { return running->is_over; });
  std::erase_if(appending_, [](const auto& appending) { return appending->is_over; });
}

void Runner::begin_waiting() {
  while (!waiting_.empty() && can_begin(waiting_.front())) {
    AnswerJob job = std::move(waiting_.front());
    waiting_.pop_front();
    begin(std::move(job));
  }
}

bool Runner::can_begin(const AnswerJob& job) const {
  if (job.options.cancellation.requested() || !sessions_ || running_.empty()) return true;
  const uint32_t n_pages =
      std::accumulate(running_.begin(), running_.end(), pages_for(job),
                      [](uint32_t n, const auto& running) { return n + running->n_pages; });
  return running_.size() < options_.n_parallel && n_pages <= sessions_->store().config().n_pages;
}

// The most pages that an answer uses.
uint32_t Runner::pages_for(const AnswerJob& job) const {
  if (!sessions_) return 0;
  const uint64_t n = uint64_t{job.prompt.size()} + job.options.max_tokens;
  return pages_of(std::min<uint64_t>(n, options_.session->n_ctx), options_.session->page_positions);
}

void Runner::begin(AnswerJob job) {
  auto running = std::make_unique<Running>(std::move(job));
  if (const Status status = start(*running); !status.ok()) {
    return running->job.deliver(status.error());
  }
  running_.push_back(std::move(running));
}

Status Runner::start(Running& running) {
  AnswerJob& job = running.job;
  if (job.options.cancellation.requested()) {
    return Error{ErrorCode::cancelled, "cancelled before it began"};
  }
  if (job.session == nullptr) {
    KINGLET_TRY(check_makes_text(loaded_.model.config()));
    std::vector<const Session*> donors;
    for (const auto& other : running_) donors.push_back(other->job.session);
    KINGLET_ASSIGN(running.own, sessions_->take(job.prompt, donors));
    job.session = running.own.get();
    running.n_pages = pages_for(job);
  }
  KINGLET_ASSIGN(running.answer, Answer::start(running.session(), *loaded_.tokenizer, job.prompt,
                                               job.options, job.plan, options_.cache));
  running.pace.emplace(options_.batch_seconds, running.session().n_batch());
  return {};
}

// Frees the most pages that a round takes: for each answer those of a batch, and the copy of a
// shared page.
void Runner::make_room() {
  if (!sessions_) return;
  const uint32_t of_batch = pages_of(options_.session->n_batch, options_.session->page_positions);
  uint32_t n_pages = 0;
  for (const auto& running : running_) {
    const bool is_reading = running->session().n_left() > 1;
    n_pages += is_reading ? of_batch + 2 : 2;
  }
  sessions_->make_room(n_pages);
}

// Computes what the last steps sampled. Contexts of one size are computed in one pass.
void Runner::decode_jointly() {
  if (options_.n_joint < 2) return;
  std::map<uint32_t, std::vector<RunningAnswer>> by_size;
  for (const auto& running : running_) {
    if (running->job.options.cancellation.requested()) continue;
    Session& session = running->session();
    by_size[session.n_ctx()].push_back({&session, &running->answer->generation()});
  }
  for (const auto& [n_ctx, answers] : by_size) {
    if (answers.size() < 2) continue;
    if (!std::exchange(has_tried_joint_, true)) {
      auto made = JointDecoding::create(loaded_.model, pool_, options_.n_joint);
      if (made.ok()) joint_decoding_ = std::move(made.value());
    }
    if (!joint_decoding_) return;
    const size_t n = joint_decoding_->compute(answers);
    n_passes_ += n > 0;
    n_decoded_ += n;
  }
}

void Runner::step(Running& running) {
  const Clock::time_point begin = Clock::now();
  auto event = running.answer->step(running.pace->size());
  if (!event.ok() || event.value().is_last()) return finish(running, std::move(event));
  if (event.value().has_token()) {
    n_passes_ += event.value().n_computed;
    n_decoded_ += event.value().n_computed;
  } else {
    running.pace->took(event.value().n_computed, seconds_since(begin));
  }
  if (event.value().is_news()) running.job.deliver(std::move(event));
}

void Runner::append(Appending& appending) {
  const Clock::time_point begin = Clock::now();
  Session& session = *appending.job.session;
  const uint32_t n_left = session.n_left();
  const Status status = session.advance(appending.pace.size());
  appending.is_over = !status.ok() || session.n_left() == 0;
  if (!status.ok()) return appending.job.deliver(status.error());
  if (appending.is_over) return appending.job.deliver(std::span<const float>(session.logits()));
  appending.pace.took(n_left - session.n_left(), seconds_since(begin));
}

// Ends an answer with its last event, or with an error.
void Runner::finish(Running& running, Result<AnswerEvent> event) {
  running.answer.reset();
  running.is_over = true;
  if (running.own != nullptr && event.ok() && running.own->abandon().ok()) {
    sessions_->give_back(std::move(running.own));
  }
  running.own.reset();
  running.job.deliver(std::move(event));
}

void Runner::cancel(const Session& session) {
  for (const auto& running : running_) {
    if (running->is_over || running->job.session != &session) continue;
    finish(*running, running->answer->cancel());
  }
  for (const auto& appending : appending_) {
    if (appending->job.session != &session) continue;
    const Status status = appending->job.session->abandon();
    appending->is_over = true;
    appending->job.deliver(status.ok() ? Error{ErrorCode::cancelled, "cancelled"} : status.error());
  }
  forget_what_is_over();
}

void Runner::abandon(const Error& error) {
  for (const auto& running : running_) running->job.deliver(error);
  running_.clear();
  for (const auto& appending : appending_) {
    (void)appending->job.session->abandon();
    appending->job.deliver(error);
  }
  appending_.clear();
  for (const AnswerJob& job : waiting_) job.deliver(error);
  waiting_.clear();
  encoding_.abandon(error);
}

RunnerState Runner::state() const {
  RunnerState state{.n_running = running_.size(),
                    .n_waiting = waiting_.size(),
                    .n_passes = n_passes_,
                    .n_decoded = n_decoded_};
  if (!sessions_) return state;
  state.n_idle_sessions = sessions_->n_idle();
  state.n_pages = sessions_->store().config().n_pages;
  state.n_pages_used = sessions_->store().n_used();
  return state;
}

}  // namespace kinglet
