// The vision transformer (Dosovitskiy et al., 2020) over the patches of one tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/cancellation.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "model/row_encoder.h"
#include "vision/image_part.h"
#include "vision/layout.h"
#include "vision/patch_grid.h"
#include "vision/vision_model.h"

namespace kinglet {

// The results do not depend, bit for bit, on batches or threads.
class Tower {
 public:
  // The model and the pool must outlive it; n_batch > 0.
  Tower(const VisionModel& model, ThreadPool& pool, uint32_t n_batch)
      : model_(&model), pool_(&pool), n_batch_(n_batch) {}

  // The bytes of memory that are allocated.
  uint64_t bytes() const { return encoder_ ? encoder_->bytes() : 0; }
  // The bytes that a tile of n_patches needs.
  uint64_t bytes_for(size_t n_patches) const;

  // Begins a tile: puts its patches into the stream. ErrorCode::out_of_memory, cancelled.
  Status embed(const Picture& picture, const Tile& tile, const Cancellation& cancellation);

  // Runs one layer; the caller runs all of them in order. Columns that the layer adds to rows are
  // written into `image`, which has room for all rows. ErrorCode::cancelled, checked before each
  // batch.
  Status run_layer(size_t index, const Cancellation& cancellation, ImageRows& image);

  // Computes the rows from the result of the last layer. Errors: as run_layer(), and not_finite.
  Status finish(const Cancellation& cancellation, ImageRows& image);

 private:
  Status make_room();
  ScratchNeeds needs_besides_layers(size_t n_patches) const;
  // Computes columns [column, column + merger.width()) of all rows.
  Status add_columns(const PatchMerger& merger, uint32_t column, const Cancellation& cancellation,
                     ImageRows& image);

  const VisionModel* model_;
  ThreadPool* pool_;
  uint32_t n_batch_;
  PatchGrid grid_;
  std::optional<RowEncoder> encoder_;
};

}  // namespace kinglet
