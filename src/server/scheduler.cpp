#include "server/scheduler.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "model/cpu_sequence.h"

namespace kinglet::server {
namespace {

Error stopped() { return {ErrorCode::cancelled, "the server is being stopped"}; }

uint32_t pages_of(uint64_t n_positions, uint32_t page) {
  return static_cast<uint32_t>((n_positions + page - 1) / page);
}

}  // namespace

Result<std::unique_ptr<Scheduler>> Scheduler::create(const LanguageModel& loaded, ThreadPool& pool,
                                                     const SchedulerOptions& options,
                                                     Metrics& metrics) {
  std::unique_ptr<Scheduler> scheduler(new Scheduler(loaded, pool, options, metrics));
  if (loaded.model.config().makes_text()) {
    const SequenceOptions& session = options.session;
    const uint32_t n_positions = std::max(session.n_ctx, options.pool_positions);
    KINGLET_ASSIGN(auto store, make_kv_store(loaded.model, n_positions, session.page_positions,
                                             session.k_kind, session.v_kind));
    // Fails here with any error that every answer's session would have.
    KINGLET_TRY(Session::create_in(store, loaded.model, pool, session));
    metrics.kv_pages = store->config().n_pages;
    scheduler->sessions_.emplace(loaded.model, pool, std::move(store), session,
                                 2 * size_t{options.n_parallel});
    if (options.n_parallel > 1) {
      KINGLET_ASSIGN(scheduler->joint_decoding_,
                     JointDecoding::create(loaded.model, pool, options.n_parallel));
    }
  }
  scheduler->thread_ = std::thread([&at = *scheduler] { at.run(); });
  return scheduler;
}

Scheduler::Scheduler(const LanguageModel& loaded, ThreadPool& pool, const SchedulerOptions& options,
                     Metrics& metrics)
    : loaded_(loaded),
      options_(options),
      metrics_(metrics),
      encoding_(loaded.model, pool),
      picture_(options.vision, pool, metrics) {}

std::optional<Scheduler::Place> Scheduler::admit() {
  const uint64_t most = uint64_t{options_.n_parallel} + options_.n_queue;
  if (++metrics_.requests <= most) return Place(*this);
  --metrics_.requests;
  ++metrics_.refused;
  return std::nullopt;
}

void Scheduler::submit(std::shared_ptr<GenerationJob> job) {
  const std::scoped_lock lock(mutex_);
  if (is_stopping_) return job->deliver({.error = stopped()});
  waiting_.push_back(std::move(job));
  metrics_.waiting = waiting_.size();
  has_work_.notify_one();
}

void Scheduler::submit(std::shared_ptr<EncodingJob> job) {
  const std::scoped_lock lock(mutex_);
  if (is_stopping_) return job->deliver(stopped());
  waiting_encodings_.push_back(std::move(job));
  has_work_.notify_one();
}

void Scheduler::submit(std::shared_ptr<PictureJob> job) {
  const std::scoped_lock lock(mutex_);
  if (is_stopping_) return job->deliver(stopped());
  waiting_pictures_.push_back(std::move(job));
  has_work_.notify_one();
}

void Scheduler::stop() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
    has_work_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void Scheduler::run() {
  while (wait_for_work()) {
    begin_waiting();
    begin_encoding();
    begin_picture();
    run_round();
  }
  cancel_all();
}

bool Scheduler::wait_for_work() {
  std::unique_lock lock(mutex_);
  has_work_.wait(lock, [&] {
    return is_stopping_ || !running_.empty() || encoding_.is_busy() || picture_.is_busy() ||
           !waiting_.empty() || !waiting_encodings_.empty() || !waiting_pictures_.empty();
  });
  return !is_stopping_;
}

void Scheduler::begin_waiting() {
  while (auto job = take_waiting()) begin(std::move(job));
}

// Removes and returns the job that has waited longest, or null if it cannot begin yet.
std::shared_ptr<GenerationJob> Scheduler::take_waiting() {
  const std::scoped_lock lock(mutex_);
  if (waiting_.empty()) return nullptr;
  const bool is_wanted = !waiting_.front()->is_cancelled();
  if (is_wanted && sessions_ && !running_.empty()) {
    const uint32_t n_pages =
        std::accumulate(running_.begin(), running_.end(), pages_for(*waiting_.front()),
                        [](uint32_t n, const auto& running) { return n + running->n_pages; });
    if (running_.size() >= options_.n_parallel || n_pages > sessions_->store().config().n_pages) {
      return nullptr;
    }
  }
  auto job = std::move(waiting_.front());
  waiting_.pop_front();
  metrics_.waiting = waiting_.size();
  return job;
}

// The most pages that an answer uses.
uint32_t Scheduler::pages_for(const GenerationJob& job) const {
  const uint64_t n = uint64_t{job.prompt().size()} + job.options().max_tokens;
  return pages_of(std::min<uint64_t>(n, options_.session.n_ctx), options_.session.page_positions);
}

void Scheduler::begin(std::shared_ptr<GenerationJob> job) {
  auto running = std::make_unique<Running>();
  running->n_pages = pages_for(*job);
  running->job = std::move(job);
  if (const Status status = start(*running); !status.ok()) {
    running->job->deliver({.error = status.error()});
    return;
  }
  running_.push_back(std::move(running));
  metrics_.running = running_.size();
}

Status Scheduler::start(Running& running) {
  if (running.job->is_cancelled()) {
    return Error{ErrorCode::cancelled, "cancelled before it was begun"};
  }
  KINGLET_TRY(check_makes_text(loaded_.model.config()));
  std::vector<const Session*> donors;
  for (const auto& other : running_) donors.push_back(other->session.get());
  const std::vector<TokenId>& prompt = running.job->prompt();
  KINGLET_ASSIGN(running.session, sessions_->take(prompt, donors));
  KINGLET_ASSIGN(running.generation, Generation::start(*running.session, *loaded_.tokenizer, prompt,
                                                       running.job->options()));
  running.n_cached = running.generation->n_prompt_done();
  metrics_.prompt_tokens += prompt.size();
  metrics_.cached_tokens += running.n_cached;
  return {};
}

void Scheduler::run_round() {
  make_room();
  decode_jointly();
  for (const auto& running : running_) step(*running);
  std::erase_if(running_, [](const auto& running) { return running->is_over; });
  metrics_.running = running_.size();
  if (encoding_.is_busy()) encoding_.advance();
  if (picture_.is_busy()) picture_.advance();
  count_pages();
}

// Frees the most pages that a round takes: for each answer those of a batch, and the copy of a
// shared page.
void Scheduler::make_room() {
  if (!sessions_) return;
  const SequenceOptions& session = options_.session;
  const uint32_t of_batch = pages_of(session.n_batch, session.page_positions) + 1;
  uint32_t n_pages = 0;
  for (const auto& running : running_) {
    const bool is_reading = running->session->n_left() > 1;
    n_pages += is_reading ? of_batch + 1 : 2;
  }
  sessions_->make_room(n_pages);
}

void Scheduler::decode_jointly() {
  if (!joint_decoding_) return;
  std::vector<RunningAnswer> answers;
  for (const auto& running : running_) {
    if (running->job->is_cancelled()) continue;
    answers.push_back({running->session.get(), &*running->generation});
  }
  const size_t n = joint_decoding_->compute(answers);
  if (n == 0) return;
  ++metrics_.decoding_steps;
  metrics_.decoded_tokens += n;
}

void Scheduler::step(Running& running) {
  auto step = running.generation->step();
  if (!step.ok()) {
    running.job->deliver({.error = std::move(step.error())});
    running.generation.reset();
    running.session.reset();
    return end(running);
  }
  GenerationStep& done = step.value();
  if (done.token != kNoToken) {
    ++metrics_.generated_tokens;
    metrics_.decoded_tokens += done.n_computed;
    metrics_.decoding_steps += done.n_computed;
    if (!running.has_answered) metrics_.first_token.add(seconds_since(running.job->begin()));
    running.has_answered = true;
  }
  const bool is_last = done.finish != FinishReason::none;
  const bool is_news =
      is_last || done.token != kNoToken || !done.text.empty() || !done.prompt.empty();
  if (is_news) running.job->deliver({.step = std::move(done), .n_cached = running.n_cached});
  if (is_last) end(running);
}

void Scheduler::end(Running& running) {
  metrics_.answers.add(seconds_since(running.job->begin()));
  running.generation.reset();
  if (running.session != nullptr && running.session->abandon().ok()) {
    sessions_->give_back(std::move(running.session));
  }
  running.is_over = true;
}

void Scheduler::count_pages() {
  if (!sessions_) return;
  metrics_.idle_sessions = sessions_->n_idle();
  metrics_.kv_pages_used = sessions_->store().n_used();
}

void Scheduler::begin_encoding() {
  const std::scoped_lock lock(mutex_);
  if (encoding_.is_busy() || waiting_encodings_.empty()) return;
  encoding_.begin(std::move(waiting_encodings_.front()));
  waiting_encodings_.pop_front();
}

void Scheduler::begin_picture() {
  std::shared_ptr<PictureJob> job;
  {
    const std::scoped_lock lock(mutex_);
    if (picture_.is_busy() || waiting_pictures_.empty()) return;
    job = std::move(waiting_pictures_.front());
    waiting_pictures_.pop_front();
  }
  picture_.begin(std::move(job));
}

void Scheduler::cancel_all() {
  const std::scoped_lock lock(mutex_);
  for (const auto& running : running_) running->job->deliver({.error = stopped()});
  running_.clear();
  encoding_.abandon(stopped());
  picture_.abandon(stopped());
  for (const auto& job : waiting_) job->deliver({.error = stopped()});
  waiting_.clear();
  for (const auto& job : waiting_encodings_) job->deliver(stopped());
  waiting_encodings_.clear();
  for (const auto& job : waiting_pictures_) job->deliver(stopped());
  waiting_pictures_.clear();
}

}  // namespace kinglet::server
