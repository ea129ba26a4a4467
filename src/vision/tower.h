// The vision transformer (Dosovitskiy et al., 2020) over the patches of one tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/cancellation.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "model/arena.h"
#include "model/projection.h"
#include "vision/image_part.h"
#include "vision/layout.h"
#include "vision/vision_model.h"

namespace kinglet {

// Patches of a tile see each other in both directions, so the stream of all is kept, and what is
// done with rows is done in batches (see Encoder). What it makes does not depend, bit for bit, on
// batches or threads. Patches of a window stand together in the stream, which is in the picture's
// order where there are none.
class Tower {
 public:
  // The model and the pool must outlive it; n_batch > 0.
  Tower(const VisionModel& model, ThreadPool& pool, uint32_t n_batch)
      : model_(&model), pool_(&pool), n_batch_(n_batch) {}

  // Of a tile that is computed.
  uint64_t bytes() const { return memory_.size(); }
  // The same for tiles of so many patches.
  uint64_t bytes_for(size_t n_patches) const;

  // Takes a tile's patches for the stream. ErrorCode::out_of_memory, cancelled.
  Status embed(const Picture& picture, const Tile& tile, const Cancellation& cancellation);

  // Runs the layers one by one, in order. What layers add to rows is put into `image`, which has
  // room for them. ErrorCode::cancelled, heard of before each batch.
  Status run_layer(size_t index, const Cancellation& cancellation, ImageRows& image);

  // Makes the rows of what the last layer left. Errors: the same, and not_finite.
  Status finish(const Cancellation& cancellation, ImageRows& image);

 private:
  struct Buffers {
    // Of all patches.
    float* stream;   // [hidden_dim]
    float* keys;     // [hidden_dim]
    float* values;   // [hidden_dim]
    float* cosines;  // [head_dim / 2], where heads are rotated
    float* sines;    // [head_dim / 2]
    // Where there are windows.
    uint32_t* places;   // of each patch of the stream: line * across + column
    uint32_t* patches;  // the other way round
    // Of a batch.
    float* normed;    // [hidden_dim], or merged patches
    float* query;     // [hidden_dim]
    float* attended;  // [hidden_dim]
    float* made;      // [hidden_dim]: what is added to the stream
    float* inner;     // [inner_width]: what lies between two matrices, or a patch's pixels
    float* up;        // [inner_width], of layers with a gate
    float* rows;      // [row_width], of merged patches
    std::byte* per_thread;
    ProjectionScratch projections;
  };
  // Rows [first, first + n) of the stream, or of the picture.
  struct Batch {
    size_t first;
    size_t n;
  };

  Buffers lay_out(Arena& arena, size_t n_patches) const;
  Status begin(const Tile& tile);

  void gather_patches(const Picture& picture, const Tile& tile, Batch batch);
  void add_positions(Batch batch);
  void compute_angles();
  void arrange_windows();
  void prepare_keys(const TowerLayer& layer, Batch batch);
  void run_attention(const TowerLayer& layer, Batch batch, std::span<const Batch> windows);
  void attend(Batch batch, std::span<const Batch> windows);
  void rotate(float* heads, Batch batch) const;
  void run_ffn(const TowerLayer& layer, Batch batch);
  void activate(float* x, const float* up, size_t n) const;

  Status add_columns(const OutputWeights& weights, uint32_t column,
                     const Cancellation& cancellation, ImageRows& image);
  void merge(Batch rows);
  void average(Batch rows);
  void project_pooled(const OutputWeights& weights, size_t n);
  void project_merged(const OutputWeights& weights, size_t n);

  const VisionConfig& config() const { return model_->config(); }
  const KernelSet& kernels() const { return model_->kernels(); }
  size_t n_patches() const { return size_t{across_} * down_; }
  // Where a patch of the stream is in the picture, and the other way round.
  size_t place_of(size_t patch) const { return has_windows() ? buffers_.places[patch] : patch; }
  size_t patch_at(size_t place) const { return has_windows() ? buffers_.patches[place] : place; }
  bool has_windows() const { return config().window > 0; }
  // Rows whose patches a batch holds.
  size_t merged_batch() const;

  void project(const float* x, size_t n_rows, std::initializer_list<Projection> projections) {
    project_rows(kernels(), *pool_, buffers_.projections, x, n_rows, projections);
  }
  // out = norm(x) of rows as wide as the norm, where there is one. out may be x.
  void normalize(const float* x, const Norm& norm, size_t n_rows, float* out) const;
  void add_to_stream(Batch batch);
  template <class F>
  void for_each(size_t n, const F& f) const;
  template <class F>
  Status for_each_batch(size_t n, size_t n_batch, const Cancellation& cancellation, const F& f);

  const VisionModel* model_;
  ThreadPool* pool_;
  uint32_t n_batch_;
  uint32_t across_ = 0;  // patches of the tile
  uint32_t down_ = 0;
  Buffers buffers_ = {};
  std::vector<Batch> windows_;  // of the stream, in order
  AlignedBuffer memory_;
};

}  // namespace kinglet
