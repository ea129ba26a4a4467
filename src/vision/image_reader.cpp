#include "vision/image_reader.h"

#include <algorithm>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/finite.h"
#include "base/format.h"
#include "base/hash.h"
#include "model/forward.h"

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
  return Error{ErrorCode::invalid_argument, "the batch has 0 patches, expected at least 1"};
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
  image.sees_all = config.projector->sees_all_in(image.width);
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
    return Error{ErrorCode::invalid_argument, cat("the rows of the picture would have ", n,
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
  ImageRows& image = parts_[part_of_[index]].image;
  if (step == 0) return embed(layout_.tiles[index]);
  return step <= n_layers() ? run_layer(step - 1, image) : finish(image);
}

// Puts the patches of a tile into the encoder's stream.
Status ImageReader::embed(const Tile& tile) {
  const VisionConfig& config = model_->config();
  grid_ = PatchGrid(tile.size.width / config.patch_size, tile.size.height / config.patch_size,
                    config.window);
  const size_t n = grid_.n_patches();
  if (!encoder_ || encoder_->capacity() < n) {
    encoder_.reset();  // frees the old memory first
    KINGLET_ASSIGN(encoder_, RowEncoder::create(model_->encoder(), *pool_, static_cast<uint32_t>(n),
                                                n_batch_, needs_besides_layers(n)));
  }
  encoder_->divide({&n, 1});
  for (size_t row = 0; config.projector->rotates() && row < n; ++row) {
    const PatchGrid::Place place = grid_.place_of(row);
    const bool columns_first = config.projector->positions == Positions::of_axes;
    encoder_->rows().positions[row] = columns_first ? RopePosition{{0, place.column, place.line}}
                                                    : RopePosition{{0, place.line, place.column}};
  }
  return encoder_->for_each_batch([&](Step& step) -> Status {
    KINGLET_TRY(check_cancelled(cancellation_, 0, n_layers()));
    model_->patches().embed(step, config, grid_, layout_.pictures[tile.picture], tile);
    step.replace_stream(model_->encoder().weights().embedding_norm);
    step.compute_angles();
    return {};
  });
}

// Columns that the layer adds to rows are written into `image`.
Status ImageReader::run_layer(size_t index, ImageRows& image) {
  const size_t n = grid_.n_patches();
  const std::vector<size_t> windows = grid_.windows();
  encoder_->divide(model_->config().has_window(index) ? std::span(windows) : std::span(&n, 1));
  KINGLET_TRY(encoder_->run_layer(index, cancellation_));
  uint32_t column = 0;
  for (const Deepstack& added : model_->deepstack()) {
    column += added.merger.width();
    if (added.layer == index) return add_columns(added.merger, column, image);
  }
  return {};
}

Status ImageReader::finish(ImageRows& image) {
  encoder_->finish();
  KINGLET_TRY(add_columns(model_->output(), 0, image));
  if (all_finite(image.rows)) return {};
  return Error{
      ErrorCode::not_finite,
      "the rows of a picture contain NaN or infinity: the picture reader's weights are damaged"};
}

// Computes columns [column, column + merger.width()) of all rows.
Status ImageReader::add_columns(const PatchMerger& merger, uint32_t column, ImageRows& image) {
  const auto n_batch = static_cast<size_t>(merger.batch_of(encoder_->scratch().n_batch));
  for (size_t first = 0; first < image.n_rows; first += n_batch) {
    KINGLET_TRY(check_cancelled(cancellation_, n_layers(), n_layers()));
    const size_t n = std::min<size_t>(n_batch, image.n_rows - first);
    Step step = encoder_->step(0, n);
    merger.run(step, grid_, first, n, image.rows.data() + first * image.width + column,
               image.width);
  }
  return {};
}

ScratchNeeds ImageReader::needs_besides_layers(size_t n_patches) const {
  const BatchShape batch{std::min<uint64_t>(n_batch_, n_patches), pool_->n_threads()};
  ScratchNeeds needs = model_->patches().scratch_needs(batch);
  needs.include(model_->output().scratch_needs(batch));
  for (const Deepstack& added : model_->deepstack()) {
    needs.include(added.merger.scratch_needs(batch));
  }
  return needs;
}

uint64_t ImageReader::bytes_for(size_t n_patches) const {
  return RowEncoder::bytes_of(model_->encoder(), pool_->n_threads(),
                              static_cast<uint32_t>(n_patches), n_batch_,
                              needs_besides_layers(n_patches));
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
