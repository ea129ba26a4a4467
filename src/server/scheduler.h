// Computes the jobs of all clients, on one thread.
//
// Answers begin in the order in which they were submitted, at most n_parallel at a time. An answer
// begins only when there are enough pages for its greatest length, so that it cannot run out of
// pages later. The running answers take turns; a turn computes one token, or a batch of the prompt.
// The tokens of a round are computed in one pass through the model if its layers allow that: the
// weights are then read once for all answers. The sampled tokens are the same as without it. Texts
// to encode take one turn in each round, one request after the other; pictures do the same.
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
#include "session/joint_decoding.h"
#include "session/language_model.h"

namespace kinglet::server {

struct SchedulerOptions {
  SequenceOptions session;              // options of each answer's session
  uint32_t pool_positions = 0;          // of all sessions together; at least n_ctx is used
  uint32_t n_parallel = 4;              // the most answers that are computed at a time
  uint32_t n_queue = 64;                // the most requests that wait
  const VisionModel* vision = nullptr;  // reads pictures; must outlive the scheduler; null: none
};

class Scheduler {
 public:
  // `loaded`, the pool and the metrics must outlive the scheduler. Nothing else may use the pool.
  // Errors: out_of_memory; those of Session::create.
  static Result<std::unique_ptr<Scheduler>> create(const LanguageModel& loaded, ThreadPool& pool,
                                                   const SchedulerOptions& options,
                                                   Metrics& metrics);
  ~Scheduler() { stop(); }
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // The place of a request among those that wait or are answered. The destructor frees it.
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

  // Returns a place for a request, for all the jobs that it submits. Returns nullopt if there are
  // n_parallel + n_queue requests already.
  std::optional<Place> admit();

  // The caller must wait for the job's results, or cancel the job.
  void submit(std::shared_ptr<GenerationJob> job);
  void submit(std::shared_ptr<EncodingJob> job);
  void submit(std::shared_ptr<PictureJob> job);

  // Ends the thread. Jobs that are not done get ErrorCode::cancelled.
  void stop();

 private:
  // An answer that is computed.
  struct Running {
    std::shared_ptr<GenerationJob> job;
    std::unique_ptr<Session> session;
    std::optional<Generation> generation;
    uint32_t n_pages = 0;  // the most that the answer can use
    uint32_t n_cached = 0;
    bool has_answered = false;  // the first token was sampled
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
  void decode_jointly();
  void step(Running& running);
  void end(Running& running);
  void count_pages();
  void begin_encoding();
  void begin_picture();
  void cancel_all();

  const LanguageModel& loaded_;
  const SchedulerOptions options_;
  Metrics& metrics_;
  std::optional<SessionPool> sessions_;          // only if the model makes text
  std::optional<JointDecoding> joint_decoding_;  // only if the model allows it
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
