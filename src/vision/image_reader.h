// Converts pictures to rows for a text model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "model/row_encoder.h"
#include "vision/image_part.h"
#include "vision/layout.h"
#include "vision/patch_grid.h"
#include "vision/vision_model.h"

namespace kinglet {

// The default number of patches that are computed together.
constexpr uint32_t kImageBatch = 256;

// Reads one picture at a time, in steps, so that the caller can do other work between them. The
// rows do not depend, bit for bit, on batches or threads. The model and the pool must outlive the
// reader.
class ImageReader {
 public:
  // ErrorCode::invalid_argument for a batch of 0.
  static Result<ImageReader> create(const VisionModel& model, ThreadPool& pool,
                                    uint32_t n_batch = kImageBatch);

  // Lays out a picture, whose pixels are not needed afterwards. An earlier picture is dropped.
  // Errors: those of lay_out_picture(); invalid_argument or out_of_memory if there is no room for
  // its rows. After an error there are no parts.
  Status begin(const PictureView& picture, const Cancellation& cancellation = {});

  // Computes the next step: a tile's patches, one of its layers, or its rows. After an error the
  // picture is dropped and there are no parts. ErrorCode::cancelled, checked before each batch;
  // out_of_memory, not_finite.
  Status advance();

  // The number of steps of the picture, and of those that are left.
  size_t n_steps() const { return layout_.tiles.size() * steps_of_tile(); }
  size_t n_left() const { return n_left_; }

  // Does all steps at once. Errors: those of begin() and advance().
  Status run(const PictureView& picture, const Cancellation& cancellation = {});

  // The input for the text model, in order. Sizes and checksums are known after begin(), the
  // numbers of rows as soon as their tile has been computed.
  std::span<const ImagePart> parts() const { return parts_; }
  // Returns the parts without a copy, and drops the picture.
  std::vector<ImagePart> take_parts();

  // Bytes of memory without parts and pictures: what is allocated now, and what a tile of n_patches
  // needs.
  uint64_t bytes() const { return encoder_ ? encoder_->bytes() : 0; }
  uint64_t bytes_for(size_t n_patches) const;

 private:
  ImageReader(const VisionModel& model, ThreadPool& pool, uint32_t n_batch)
      : model_(&model), pool_(&pool), n_batch_(n_batch) {}

  void list_parts(uint64_t checksum);
  ImageRows describe(const Tile& tile) const;
  Status make_room();
  Status run_step(size_t tile, size_t step);
  ScratchNeeds needs_besides_layers(size_t n_patches) const;
  Status embed(const Tile& tile);
  Status run_layer(size_t index, ImageRows& image);
  Status finish(ImageRows& image);
  Status add_columns(const PatchMerger& merger, uint32_t column, ImageRows& image);
  void give_up();
  size_t n_layers() const { return model_->encoder().config().n_layers; }
  // One step for the patches, one for each layer, one for the rows.
  size_t steps_of_tile() const { return n_layers() + 2; }

  const VisionModel* model_;
  ThreadPool* pool_;
  uint32_t n_batch_;
  PatchGrid grid_;  // of the tile
  std::optional<RowEncoder> encoder_;
  Cancellation cancellation_;
  PictureLayout layout_;
  std::vector<ImagePart> parts_;
  std::vector<size_t> part_of_;  // for each tile, the index of its part
  size_t n_left_ = 0;
};

}  // namespace kinglet
