#include "vision/image_reader.h"

#include <utility>

#include "base/aligned_buffer.h"
#include "base/format.h"
#include "base/hash.h"

namespace kinglet {
namespace {

// The maximum number of floats in all rows of a picture.
constexpr uint64_t kMaxRowNumbers = 1 << 28;

uint64_t checksum_of(const PictureView& picture, uint64_t reader) {
  const uint32_t sides[] = {picture.width, picture.height};
  return hash_bytes(std::as_bytes(picture.pixels),
                    hash_bytes(std::as_bytes(std::span(sides)), reader));
}

}  // namespace

Result<ImageReader> ImageReader::create(const VisionModel& model, ThreadPool& pool,
                                        uint32_t n_batch) {
  if (n_batch > 0) return ImageReader(model, pool, n_batch);
  return Error{ErrorCode::invalid_argument, "a batch of 0 patches, expected 1 or more"};
}

Status ImageReader::begin(const PictureView& picture, const Cancellation& cancellation) {
  give_up();
  KINGLET_ASSIGN(layout_, lay_out_picture(model_->config(), picture));
  list_parts(checksum_of(picture, model_->identity()));
  if (Status status = make_room(); !status.ok()) {
    give_up();
    return status;
  }
  cancellation_ = cancellation;
  n_left_ = n_steps();
  return {};
}

// Describes the rows of a tile before they are computed.
ImageRows ImageReader::describe(const Tile& tile) const {
  const VisionConfig& config = model_->config();
  const uint32_t across = tile.size.width / config.row_size();
  const uint32_t down = tile.size.height / config.row_size();
  ImageRows image;
  image.n_rows = across * down;
  image.width = model_->width();
  if (config.projector->counts_grid) {
    image.grid_width = across;
    image.grid_height = down;
  }
  image.sees_all = config.projector->sees_all;
  return image;
}

void ImageReader::list_parts(uint64_t checksum) {
  for (std::string& text : layout_.parts) {
    if (!text.empty()) {
      parts_.push_back({std::move(text), {}});
      continue;
    }
    const uint64_t index = part_of_.size();
    ImageRows image = describe(layout_.tiles[part_of_.size()]);
    image.checksum = hash_bytes(std::as_bytes(std::span(&index, 1)), checksum);
    part_of_.push_back(parts_.size());
    parts_.push_back({{}, std::move(image)});
  }
}

// A vector that cannot allocate ends the program. So this first tries to allocate the same memory
// in a way that can fail.
Status ImageReader::make_room() {
  uint64_t n = 0;
  for (const ImagePart& part : parts_) n += uint64_t{part.image.n_rows} * part.image.width;
  if (n > kMaxRowNumbers) {
    return Error{ErrorCode::invalid_argument, cat("the rows of the picture would be ", n,
                                                  " numbers, expected at most ", kMaxRowNumbers)};
  }
  KINGLET_TRY(AlignedBuffer::allocate(n * sizeof(float), "a picture's rows"));
  for (ImagePart& part : parts_) {
    part.image.rows.resize(size_t{part.image.n_rows} * part.image.width);
  }
  return {};
}

Status ImageReader::advance() {
  if (n_left_ == 0) return {};
  const size_t done = n_steps() - n_left_;
  Status status = run_step(done / steps_of_tile(), done % steps_of_tile());
  if (!status.ok()) {
    give_up();
    return status;
  }
  --n_left_;
  return {};
}

Status ImageReader::run(const PictureView& picture, const Cancellation& cancellation) {
  KINGLET_TRY(begin(picture, cancellation));
  while (n_left_ > 0) KINGLET_TRY(advance());
  return {};
}

Status ImageReader::run_step(size_t index, size_t step) {
  const Tile& tile = layout_.tiles[index];
  ImageRows& image = parts_[part_of_[index]].image;
  if (step == 0) {
    return tower_.embed(layout_.pictures[tile.picture], tile, cancellation_);
  }
  if (step <= model_->encoder().config().n_layers) {
    return tower_.run_layer(step - 1, cancellation_, image);
  }
  return tower_.finish(cancellation_, image);
}

std::vector<ImagePart> ImageReader::take_parts() {
  std::vector<ImagePart> parts = std::move(parts_);
  give_up();
  return parts;
}

void ImageReader::give_up() {
  n_left_ = 0;
  layout_ = {};
  parts_.clear();
  part_of_.clear();
}

}  // namespace kinglet
