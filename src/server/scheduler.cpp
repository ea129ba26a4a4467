#include "server/scheduler.h"

#include "base/clock.h"

namespace kinglet::server {
namespace {

Error stopped() { return {ErrorCode::cancelled, "the server is stopping"}; }

void refuse(const Scheduler::Job& job) {
  std::visit([](const auto& given) { given.deliver(stopped()); }, job);
}

// Counts what an answer reports.
class AnswerMeter {
 public:
  AnswerMeter(Metrics& metrics, uint64_t n_prompt) : metrics_(metrics), n_prompt_(n_prompt) {}

  void count(const Result<AnswerEvent>& event) {
    if (!event.ok()) return metrics_.answers.add(seconds_since(begin_));
    const AnswerCounts& counts = event.value().counts;
    if (n_prompt_ > 0) {
      metrics_.prompt_tokens += std::exchange(n_prompt_, 0);
      metrics_.cached_tokens += counts.n_cached;
    }
    if (event.value().has_token()) {
      ++metrics_.generated_tokens;
      if (counts.n_generated == 1) metrics_.first_token.add(seconds_since(begin_));
    }
    if (event.value().is_last()) metrics_.answers.add(seconds_since(begin_));
  }

 private:
  Metrics& metrics_;
  uint64_t n_prompt_;  // tokens that are not counted yet
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

Result<std::unique_ptr<Scheduler>> Scheduler::create(const LanguageModel& loaded, ThreadPool& pool,
                                                     const SchedulerOptions& options,
                                                     Metrics& metrics) {
  RunnerOptions of_runner{.pool_positions = options.pool_positions,
                          .n_parallel = options.n_parallel,
                          .n_joint = options.n_parallel,
                          .cache = options.cache};
  if (loaded.model.config().makes_text()) of_runner.session = options.session;
  KINGLET_ASSIGN(auto runner, Runner::create(loaded, pool, of_runner));
  return std::unique_ptr<Scheduler>(new Scheduler(std::move(runner), pool, options, metrics));
}

Scheduler::Scheduler(std::unique_ptr<Runner> runner, ThreadPool& pool,
                     const SchedulerOptions& options, Metrics& metrics)
    : options_(options),
      metrics_(metrics),
      runner_(std::move(runner)),
      pictures_(options.pictures ? options.pictures->model : nullptr, pool) {
  count();
  thread_ = std::thread([this] { run(); });
}

std::optional<Scheduler::Place> Scheduler::admit() {
  const uint64_t most = uint64_t{options_.n_parallel} + options_.n_queue;
  if (++metrics_.requests <= most) return Place(*this);
  --metrics_.requests;
  ++metrics_.refused;
  return std::nullopt;
}

void Scheduler::submit(Job job) {
  if (auto* answer = std::get_if<AnswerJob>(&job)) {
    answer->deliver = [meter = AnswerMeter(metrics_, answer->prompt.size()),
                       deliver = std::move(answer->deliver)](Result<AnswerEvent> event) mutable {
      meter.count(event);
      deliver(std::move(event));
    };
  }
  const std::scoped_lock lock(mutex_);
  if (is_stopping_) return refuse(job);
  new_jobs_.push_back(std::move(job));
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
  while (take_jobs()) {
    runner_->advance();
    if (pictures_.is_busy()) pictures_.advance();
    count();
  }
  runner_->abandon(stopped());
  pictures_.abandon(stopped());
  const std::scoped_lock lock(mutex_);
  for (const Job& job : new_jobs_) refuse(job);
}

// Waits until there is something to compute. Returns false when the scheduler is stopped.
bool Scheduler::take_jobs() {
  std::vector<Job> jobs;
  {
    std::unique_lock lock(mutex_);
    has_work_.wait(lock, [&] {
      return is_stopping_ || runner_->is_busy() || pictures_.is_busy() || !new_jobs_.empty();
    });
    if (is_stopping_) return false;
    jobs.swap(new_jobs_);
  }
  for (Job& job : jobs) {
    if (auto* answer = std::get_if<AnswerJob>(&job)) runner_->submit(std::move(*answer));
    if (auto* encoding = std::get_if<EncodingJob>(&job)) runner_->submit(std::move(*encoding));
    if (auto* picture = std::get_if<PictureJob>(&job)) pictures_.submit(std::move(*picture));
  }
  return true;
}

void Scheduler::count() {
  const RunnerState state = runner_->state();
  metrics_.running = state.n_running;
  metrics_.waiting = state.n_waiting;
  metrics_.idle_sessions = state.n_idle_sessions;
  metrics_.kv_pages = state.n_pages;
  metrics_.kv_pages_used = state.n_pages_used;
  metrics_.decoding_steps = state.n_passes;
  metrics_.decoded_tokens = state.n_decoded;
  metrics_.pictures = pictures_.n_computed();
}

}  // namespace kinglet::server
