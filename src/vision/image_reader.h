// Pictures in, rows for a text model out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "vision/image_part.h"
#include "vision/layout.h"
#include "vision/tower.h"
#include "vision/vision_model.h"

namespace kinglet {

// Patches that are computed together where nobody says how many.
constexpr uint32_t kImageBatch = 256;

// Reads pictures one at a time, in steps, between which a caller can do something else.
// The model and the pool must outlive it.
class ImageReader {
 public:
  // ErrorCode::invalid_argument: a batch of 0.
  static Result<ImageReader> create(const VisionModel& model, ThreadPool& pool,
                                    uint32_t n_batch = kImageBatch);

  // Lays out a picture, whose pixels are not needed afterwards, in place of what was begun or read
  // before. Errors: those of lay_out_picture(), and invalid_argument or out_of_memory where its
  // rows find no room; there are no parts then.
  Status begin(const PictureView& picture, const Cancellation& cancellation = {});

  // Computes the next step: a tile's patches, one of its layers, or its rows. An error ends it, and
  // there are no parts then. Errors: those of Tower.
  Status advance();

  // Steps of the picture, and those that are left.
  size_t n_steps() const { return layout_.tiles.size() * steps_of_tile(); }
  size_t n_left() const { return n_left_; }

  // All steps at once. Errors: those of begin() and advance().
  Status run(const PictureView& picture, const Cancellation& cancellation = {});

  // What the text model is to see, in its order. Sizes and checksums are known from the beginning,
  // numbers as soon as their tile has been computed.
  std::span<const ImagePart> parts() const { return parts_; }
  // The same without a copy; what was begun ends with it.
  std::vector<ImagePart> take_parts();

  // Memory beside parts and pictures: what is held, and what a tile of so many patches needs.
  uint64_t bytes() const { return tower_.bytes(); }
  uint64_t bytes_for(size_t n_patches) const { return tower_.bytes_for(n_patches); }

 private:
  ImageReader(const VisionModel& model, ThreadPool& pool, uint32_t n_batch)
      : model_(&model), tower_(model, pool, n_batch) {}

  void list_parts(uint64_t checksum);
  ImageRows describe(const Tile& tile) const;
  Status make_room();
  Status run_step(size_t tile, size_t step);
  void give_up();
  // Patches, layers, rows.
  size_t steps_of_tile() const { return model_->weights().layers.size() + 2; }

  const VisionModel* model_;
  Tower tower_;
  Cancellation cancellation_;
  PictureLayout layout_;
  std::vector<ImagePart> parts_;
  std::vector<size_t> part_of_;  // which part a tile is
  size_t n_left_ = 0;
};

}  // namespace kinglet
