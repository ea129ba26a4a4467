// The thread that computes the jobs of all clients.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "answers/picture_run.h"
#include "answers/runner.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "server/metrics.h"
#include "session/language_model.h"

namespace kinglet::server {

// Decodes the bytes of a picture file. Called on any thread. `stops` is called repeatedly and
// returns whether to stop, which is ErrorCode::cancelled.
using Decoder =
    std::function<Result<Picture>(const std::string& file, const std::function<bool()>& stops)>;

// How the pictures of requests are read.
struct PictureOptions {
  const VisionModel* model;  // must outlive the scheduler
  Decoder decode;
};

struct SchedulerOptions {
  SequenceOptions session;                      // options of each answer's session
  uint32_t pool_positions = 0;                  // of all sessions together; at least n_ctx is used
  uint32_t n_parallel = 4;                      // the most answers that are computed at a time
  uint32_t n_queue = 64;                        // the most requests that wait
  PromptCache* cache = nullptr;                 // must outlive the scheduler; null: none
  std::optional<PictureOptions> pictures = {};  // none: there are no PictureJobs
};

class Scheduler {
 public:
  using Job = std::variant<AnswerJob, EncodingJob, PictureJob>;

  // `loaded`, the pool and the metrics must outlive the scheduler. Nothing else may use the pool.
  // Errors: those of Runner::create().
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

  // Null: no pictures are read.
  const Decoder* decoder() const {
    return options_.pictures ? &options_.pictures->decode : nullptr;
  }

  // The job's results are delivered on the thread that computes.
  void submit(Job job);

  // Ends the thread. Jobs that are not done get ErrorCode::cancelled.
  void stop();

 private:
  Scheduler(std::unique_ptr<Runner> runner, ThreadPool& pool, const SchedulerOptions& options,
            Metrics& metrics);

  void run();
  bool take_jobs();
  void count();

  const SchedulerOptions options_;
  Metrics& metrics_;
  std::unique_ptr<Runner> runner_;
  PictureRun pictures_;

  std::mutex mutex_;
  std::condition_variable has_work_;
  std::vector<Job> new_jobs_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace kinglet::server
