// Reads a job's picture, one step at a time, and keeps the rows of the last pictures: a
// conversation sends its pictures again with every request.
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
  // The most bytes of rows that are kept.
  static constexpr size_t kMostKept = size_t{64} << 20;

  // The model, the pool and the metrics must outlive the object. If `model` is null, jobs fail with
  // ErrorCode::unsupported_feature.
  PictureRun(const VisionModel* model, ThreadPool& pool, Metrics& metrics)
      : model_(model), pool_(pool), metrics_(metrics) {}

  bool is_busy() const { return job_ != nullptr; }

  // Must not be called while the object is busy.
  void begin(std::shared_ptr<PictureJob> job);

  // Computes one step. After the last step, or an error, gives the job its result.
  void advance();

  // Ends the job, if there is one, with `error`.
  void abandon(const Error& error);

 private:
  Status start();
  bool find_remembered();
  void remember(PictureParts parts);
  void finish(Result<PictureParts> result);

  const VisionModel* model_;
  ThreadPool& pool_;
  Metrics& metrics_;
  std::optional<ImageReader> reader_;
  std::shared_ptr<PictureJob> job_;
  std::deque<PictureParts> remembered_;  // the last used first
};

}  // namespace kinglet::server
