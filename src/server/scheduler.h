// Computes what all clients ask for, on one thread.
//
// Answers are begun in the order in which they were asked for, at most n_parallel at a time, and
// each only when there are pages for all that it may become: one that has begun never fails for
// want of them. Those that have begun take turns: a token, or a batch of the prompt. The tokens of
// a turn are computed in one pass through the model, where its layers allow that, so that weights
// are read once for all; what is drawn is the same as alone. Texts to be made vectors of are one
// more that takes turns, one request after the other; so are pictures.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "server/encoding_run.h"
#include "server/job.h"
#include "server/metrics.h"
#include "server/picture_run.h"
#include "server/session_pool.h"
#include "session/generation.h"
#include "session/language_model.h"

namespace kinglet::server {

struct SchedulerOptions {
  SessionOptions session;               // its context and pages are those of each answer
  uint32_t pool_positions = 0;          // of all of them together; one context at least
  uint32_t n_parallel = 4;              // answers that are computed at a time
  uint32_t n_queue = 64;                // requests that wait, at most
  const VisionModel* vision = nullptr;  // what reads pictures; must outlive the scheduler
};

class Scheduler {
 public:
  // `loaded`, the pool, which serves nothing else, and the metrics must outlive it.
  // ErrorCode::out_of_memory; those of Session::create.
  static Result<std::unique_ptr<Scheduler>> create(const LanguageModel& loaded, ThreadPool& pool,
                                                   const SchedulerOptions& options,
                                                   Metrics& metrics);
  ~Scheduler() { stop(); }
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // A request's place, until it is destroyed.
  class Place {
   public:
    explicit Place(Scheduler& scheduler) : scheduler_(&scheduler) {}
    Place(Place&& other) noexcept : scheduler_(std::exchange(other.scheduler_, nullptr)) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (scheduler_ != nullptr) --scheduler_->metrics_.requests;
    }

   private:
    Scheduler* scheduler_;
  };

  // For a request, whatever it submits then; none where as many wait as may.
  std::optional<Place> admit();

  // Whoever submits a job waits for what it is told, or cancels it.
  void submit(std::shared_ptr<GenerationJob> job);
  void submit(std::shared_ptr<EncodingJob> job);
  void submit(std::shared_ptr<PictureJob> job);

  // Ends the thread; what is left to compute is told that it is cancelled.
  void stop();

 private:
  // An answer that is computed.
  struct Running {
    std::shared_ptr<GenerationJob> job;
    std::unique_ptr<Session> session;
    std::optional<Generation> generation;
    uint32_t n_pages = 0;  // that it may come to take
    uint32_t n_cached = 0;
    bool has_answered = false;  // with a first token
    bool is_over = false;
  };

  Scheduler(const LanguageModel& loaded, ThreadPool& pool, const SchedulerOptions& options,
            Metrics& metrics);

  void run();
  bool wait_for_work();
  void begin_waiting();
  std::shared_ptr<GenerationJob> take_waiting();
  uint32_t pages_for(const GenerationJob& job) const;
  void begin(std::shared_ptr<GenerationJob> job);
  Status start(Running& running);
  void run_round();
  void make_room();
  void compute_together();
  void step(Running& running);
  void end(Running& running);
  void count_pages();
  void begin_encoding();
  void begin_picture();
  void cancel_all();

  const LanguageModel& loaded_;
  const SchedulerOptions options_;
  Metrics& metrics_;
  std::optional<SessionPool> sessions_;  // of a model that makes text
  std::optional<Scratch> together_;      // … for steps of several answers, where it can make them
  EncodingRun encoding_;
  PictureRun picture_;
  std::vector<std::unique_ptr<Running>> running_;

  std::mutex mutex_;
  std::condition_variable has_work_;
  std::deque<std::shared_ptr<GenerationJob>> waiting_;
  std::deque<std::shared_ptr<EncodingJob>> waiting_encodings_;
  std::deque<std::shared_ptr<PictureJob>> waiting_pictures_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace kinglet::server
