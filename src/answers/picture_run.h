// Reads pictures, one step at a time, and keeps the rows of the last ones: a conversation sends its
// pictures again with every request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "base/cancellation.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "vision/image_part.h"
#include "vision/image_reader.h"
#include "vision/pixels.h"

namespace kinglet {

// Computes the parts that show a picture to a text model.
struct PictureJob {
  Picture picture;
  Cancellation cancellation;
  std::function<void(Result<PictureParts>)> deliver;  // called once
};

// Jobs are done one after the other.
class PictureRun {
 public:
  // The most bytes of rows that are kept.
  static constexpr size_t kMostKept = size_t{64} << 20;

  // The model and the pool must outlive the object. If `model` is null, there must be no jobs.
  PictureRun(const VisionModel* model, ThreadPool& pool) : model_(model), pool_(pool) {}

  bool is_busy() const { return !jobs_.empty(); }

  void submit(PictureJob job) { jobs_.push_back(std::move(job)); }

  // Begins the first job, or computes one step of it. After the last step, or an error, delivers
  // its result.
  void advance();

  // Ends all jobs with `error`.
  void abandon(const Error& error);

  // How many pictures were computed; one whose rows were kept is not counted again.
  uint64_t n_computed() const { return n_computed_; }

 private:
  Status begin();
  bool find_remembered();
  void remember(PictureParts parts);
  void finish(Result<PictureParts> result);

  const VisionModel* model_;
  ThreadPool& pool_;
  std::deque<PictureJob> jobs_;
  std::optional<ImageReader> reader_;  // reads the picture of the first job; none: not begun
  uint64_t n_computed_ = 0;
  std::deque<PictureParts> remembered_;  // the last used first
};

}  // namespace kinglet
