// Computes vectors or scores of texts, one step at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "answers/encoding.h"
#include "answers/label_run.h"
#include "base/cancellation.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "model/encode.h"
#include "model/model.h"

namespace kinglet {

// Texts are computed in groups of this many tokens, or a few more. A larger group
// would not be faster, and what waits for its next step would wait longer.
constexpr size_t kGroupTokens = 512;

struct EncodingJob {
  Encoding encoding;
  Cancellation cancellation = {};
  std::function<void(Result<Rows>)> deliver;                 // called once
  std::function<void(size_t n_done)> on_progress = nullptr;  // called when texts are done
};

// Jobs are done one after the other.
class EncodingRun {
 public:
  // The model and the pool must outlive the object. `batch_seconds`: see RunnerOptions.
  EncodingRun(const Model& model, ThreadPool& pool, double batch_seconds = 0)
      : model_(model), pool_(pool), batch_seconds_(batch_seconds) {}

  bool is_busy() const { return !jobs_.empty(); }

  void submit(EncodingJob job) { jobs_.push_back(std::move(job)); }

  // Computes one step of the first job. After the last step, or an error, delivers its result.
  void advance();

  // Computes a job, and all before it, to its end.
  void run(EncodingJob job);

  // Ends all jobs with `error`.
  void abandon(const Error& error);

 private:
  void finish(Result<Rows> result);
  Status advance_group();
  Status advance_labels();
  Status begin_group();
  Status read_group();
  Result<std::vector<float>> row(size_t text);

  const Model& model_;
  ThreadPool& pool_;
  const double batch_seconds_;
  std::deque<EncodingJob> jobs_;
  size_t n_begun_ = 0;              // texts of the first job, with those of the current group
  Rows rows_;                       // of its texts that are done
  std::optional<Encoder> encoder_;  // with room for n_room_ tokens
  size_t n_room_ = 0;
  std::unique_ptr<LabelRun> labels_;  // of the first job, if it is begun and has labels
};

}  // namespace kinglet
