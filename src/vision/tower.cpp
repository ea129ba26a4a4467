#include "vision/tower.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace kinglet {
namespace {

Status check_cancelled(const Cancellation& cancellation) {
  if (!cancellation.requested()) return {};
  return Error{ErrorCode::cancelled, "cancelled while a picture was read"};
}

}  // namespace

ScratchNeeds Tower::needs_besides_layers(size_t n_patches) const {
  const BatchShape batch{std::min<uint64_t>(n_batch_, n_patches), pool_->n_threads()};
  ScratchNeeds needs = model_->patches().scratch_needs(batch);
  needs.include(model_->output().scratch_needs(batch));
  for (const Deepstack& added : model_->deepstack()) {
    needs.include(added.merger.scratch_needs(batch));
  }
  return needs;
}

uint64_t Tower::bytes_for(size_t n_patches) const {
  return RowEncoder::bytes_of(model_->encoder(), pool_->n_threads(),
                              static_cast<uint32_t>(n_patches), n_batch_,
                              needs_besides_layers(n_patches));
}

Status Tower::make_room() {
  const auto n = static_cast<uint32_t>(grid_.n_patches());
  if (encoder_ && encoder_->capacity() >= n) return {};
  encoder_.reset();  // frees the old memory first
  KINGLET_ASSIGN(encoder_, RowEncoder::create(model_->encoder(), *pool_, n, n_batch_,
                                              needs_besides_layers(n)));
  return {};
}

Status Tower::embed(const Picture& picture, const Tile& tile, const Cancellation& cancellation) {
  const VisionConfig& config = model_->config();
  grid_ = PatchGrid(tile.size.width / config.patch_size, tile.size.height / config.patch_size,
                    config.window);
  KINGLET_TRY(make_room());
  const size_t n_patches = grid_.n_patches();
  encoder_->divide({&n_patches, 1});
  if (config.projector->rotates()) {
    for (size_t row = 0; row < n_patches; ++row) {
      const PatchGrid::Place place = grid_.place_of(row);
      encoder_->rows().positions[row] = {{0, place.line, place.column}};
    }
  }
  return encoder_->for_each_batch([&](Step& step) -> Status {
    KINGLET_TRY(check_cancelled(cancellation));
    model_->patches().embed(step, config, grid_, picture, tile);
    step.replace_stream(model_->encoder().weights().embedding_norm);
    step.compute_angles();
    return {};
  });
}

Status Tower::run_layer(size_t index, const Cancellation& cancellation, ImageRows& image) {
  const size_t n_patches = grid_.n_patches();
  if (model_->config().has_window(index)) {
    encoder_->divide(grid_.windows());
  } else {
    encoder_->divide({&n_patches, 1});
  }
  KINGLET_TRY(encoder_->run_layer(index, cancellation));
  uint32_t column = 0;
  for (const Deepstack& added : model_->deepstack()) {
    column += added.merger.width();
    if (added.layer == index) return add_columns(added.merger, column, cancellation, image);
  }
  return {};
}

Status Tower::finish(const Cancellation& cancellation, ImageRows& image) {
  encoder_->finish();
  KINGLET_TRY(add_columns(model_->output(), 0, cancellation, image));
  const auto is_bad = [](float number) { return !std::isfinite(number); };
  if (std::none_of(image.rows.begin(), image.rows.end(), is_bad)) return {};
  return Error{
      ErrorCode::not_finite,
      "the rows of a picture hold NaN or infinity: the picture reader's weights are damaged"};
}

Status Tower::add_columns(const PatchMerger& merger, uint32_t column,
                          const Cancellation& cancellation, ImageRows& image) {
  const size_t n_batch = merger.batch_of(encoder_->scratch().n_batch);
  for (size_t first = 0; first < image.n_rows; first += n_batch) {
    KINGLET_TRY(check_cancelled(cancellation));
    const size_t n = std::min<size_t>(n_batch, image.n_rows - first);
    Step step = encoder_->step(0, n);
    merger.run(step, grid_, first, n, image.rows.data() + first * image.width + column,
               image.width);
  }
  return {};
}

}  // namespace kinglet
