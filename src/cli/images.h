// Reads pictures for a text model.
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

// Reads pictures by the mmproj file of a text model, with the threads of the run.
class PictureFileReader {
 public:
  // `mmproj` is the path or address of that file; "": the one in the model's folder, as on the hub.
  // Errors: those of pick_reader(), VisionModel::load() and check_fits().
  static Result<std::unique_ptr<PictureFileReader>> open(const std::string& mmproj,
                                                         const std::string& model, Run& run);

  const VisionModel& model() const { return model_; }

  // Returns the parts that show the picture to the text model. Shows a progress bar meanwhile.
  Result<std::vector<ImagePart>> read(const std::string& path, const Cancellation& cancellation);

 private:
  PictureFileReader(VisionModel model, ThreadPool& pool) : model_(std::move(model)), pool_(pool) {}

  VisionModel model_;
  ThreadPool& pool_;
};

}  // namespace kinglet::cli
