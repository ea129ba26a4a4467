// Pictures for a model that reads them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "cli/run.h"
#include "vision/image_part.h"
#include "vision/image_reader.h"
#include "vision/vision_model.h"

namespace kinglet::cli {

// The mmproj file beside a text model. Pictures are read with the threads of the run.
class PictureReader {
 public:
  // `mmproj`: its path or address; "": the one file in the model's folder whose name begins with
  // mmproj. ErrorCode::io where there is none; those of VisionModel::load() and check_fits().
  static Result<std::unique_ptr<PictureReader>> open(const std::string& mmproj,
                                                     const std::string& model, Run& run);

  const VisionModel& model() const { return model_; }

  // What the text model is to see of the picture in that file, with a bar while it is read.
  Result<std::vector<ImagePart>> read(const std::string& path, const Cancellation& cancellation);

 private:
  PictureReader(VisionModel model, ThreadPool& pool) : model_(std::move(model)), pool_(pool) {}

  VisionModel model_;
  ThreadPool& pool_;
};

}  // namespace kinglet::cli
