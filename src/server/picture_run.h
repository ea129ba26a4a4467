// Reads a job's picture, one step at a time, and keeps what it made of the last ones: a
// conversation brings its pictures along with every request.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>

#include "base/result.h"
#include "base/thread_pool.h"
#include "server/job.h"
#include "server/metrics.h"
#include "vision/image_reader.h"

namespace kinglet::server {

class PictureRun {
 public:
  // Bytes of rows that are kept.
  static constexpr size_t kMostKept = size_t{64} << 20;

  // The model, the pool and the metrics must outlive it. Null: jobs are told that nothing reads
  // pictures.
  PictureRun(const VisionModel* model, ThreadPool& pool, Metrics& metrics)
      : model_(model), pool_(pool), metrics_(metrics) {}

  bool is_busy() const { return job_ != nullptr; }

  // Only where it is not busy.
  void begin(std::shared_ptr<PictureJob> job);

  // Computes a step. The job is told its result after the last, or what failed.
  void advance();

  // Tells the job, if there is one, that it failed.
  void abandon(const Error& error);

 private:
  Status start();
  bool find_kept();
  void keep(PictureJob::Parts parts);
  void tell(Result<PictureJob::Parts> result);

  const VisionModel* model_;
  ThreadPool& pool_;
  Metrics& metrics_;
  std::optional<ImageReader> reader_;
  std::shared_ptr<PictureJob> job_;
  std::deque<PictureJob::Parts> kept_;  // the last one first
};

}  // namespace kinglet::server
