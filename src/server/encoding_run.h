// Computes vectors or scores of a job's texts, one step at a time.
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/text_group.h"
#include "server/job.h"

namespace kinglet::server {

class EncodingRun {
 public:
  // The model and the pool must outlive the object.
  EncodingRun(const Model& model, ThreadPool& pool) : model_(model), group_(model, pool) {}

  bool is_busy() const { return job_ != nullptr; }

  // Must not be called while the object is busy.
  void begin(std::shared_ptr<EncodingJob> job);

  // Computes one step. After the last step, or an error, gives the job its result.
  void advance();

  // Ends the job, if there is one, with `error`.
  void abandon(const Error& error);

 private:
  Status advance_group();
  Status begin_group();
  Status read_group();

  const Model& model_;
  TextGroup group_;
  std::shared_ptr<EncodingJob> job_;
  size_t n_begun_ = 0;  // texts begun, with those of the current group
  EncodingJob::Rows rows_;
};

}  // namespace kinglet::server
