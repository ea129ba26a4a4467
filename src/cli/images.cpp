#include "cli/images.h"

#include <filesystem>
#include <utility>

#include "base/format.h"
#include "base/paths.h"
#include "cli/models.h"
#include "cli/picture_file.h"
#include "cli/progress.h"
#include "hub/repository.h"

namespace kinglet::cli {

namespace {

Result<std::string> find_mmproj(const std::string& model) {
  KINGLET_ASSIGN(const std::string path, model_path(model));
  const std::filesystem::path folder = to_path(path).parent_path();
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& file :
       std::filesystem::directory_iterator(folder.empty() ? "." : folder, error)) {
    files.push_back(to_utf8(file.path()));
  }
  return pick_reader(files, "", cat("the folder of ", path));
}

}  // namespace

Result<std::unique_ptr<PictureFileReader>> PictureFileReader::open(const std::string& mmproj,
                                                                   const std::string& model,
                                                                   Run& run) {
  std::string path = mmproj;
  if (path.empty()) {
    KINGLET_ASSIGN(path, find_mmproj(model));
  }
  KINGLET_ASSIGN(GgufFile file, read_model(path));
  KINGLET_ASSIGN(VisionModel vision,
                 VisionModel::load(std::move(file), run.loaded.model.kernels()));
  KINGLET_TRY(check_fits(vision, run.loaded.model.config().image_width()));
  return std::unique_ptr<PictureFileReader>(new PictureFileReader(std::move(vision), run.pool));
}

Result<std::vector<ImagePart>> PictureFileReader::read(const std::string& path,
                                                       const Cancellation& cancellation) {
  const PictureLimits limits{.stops = [&] { return cancellation.requested(); }};
  KINGLET_ASSIGN(const Picture picture, read_picture(path, limits));
  KINGLET_ASSIGN(ImageReader reader, ImageReader::create(model_, pool_));
  KINGLET_TRY(reader.begin(picture.view(), cancellation));
  ProgressBar bar("Looking");
  while (reader.n_left() > 0) {
    KINGLET_TRY(reader.advance());
    bar.update(reader.n_steps() - reader.n_left(), reader.n_steps());
  }
  return reader.take_parts();
}

}  // namespace kinglet::cli
