// The vision transformer (Dosovitskiy et al., 2020) over the patches of one tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/arena.h"
#include "base/cancellation.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "model/projection.h"
#include "vision/image_part.h"
#include "vision/layout.h"
#include "vision/vision_model.h"

namespace kinglet {

// Patches of a tile see each other in both directions, so the stream of all patches is kept, and
// rows are processed in batches (see Encoder). The results do not depend, bit for bit, on batches
// or threads. If the reader has windows, the patches of each window are together in the stream;
// otherwise the stream has the order of the picture.
class Tower {
 public:
  // The model and the pool must outlive it; n_batch > 0.
  Tower(const VisionModel& model, ThreadPool& pool, uint32_t n_batch)
      : model_(&model), pool_(&pool), n_batch_(n_batch) {}

  // The bytes of memory that are allocated.
  uint64_t bytes() const { return memory_.size(); }
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
  struct Buffers {
    // For all patches.
    float* stream;   // [hidden_dim]
    float* keys;     // [hidden_dim]
    float* values;   // [hidden_dim]
    float* cosines;  // [head_dim / 2], if heads are rotated
    float* sines;    // [head_dim / 2]
    // Only if there are windows.
    uint32_t* places;   // for each patch of the stream: line * across + column
    uint32_t* patches;  // the inverse of `places`
    // For a batch.
    float* normed;    // [hidden_dim], or merged patches
    float* query;     // [hidden_dim]
    float* attended;  // [hidden_dim]
    float* made;      // [hidden_dim]: the result that is added to the stream
    float* inner;     // [inner_width]: values between two matrices, or a patch's pixels
    float* up;        // [inner_width], for layers with a gate
    float* rows;      // [row_width], the rows of merged patches
    std::byte* per_thread;
    ProjectionScratch projections;
  };
  // Rows [first, first + n) of the stream, or of the picture's rows for the text model.
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
  // Convert the index of a patch in the stream to its place in the picture, and back.
  size_t place_of(size_t patch) const { return has_windows() ? buffers_.places[patch] : patch; }
  size_t patch_at(size_t place) const { return has_windows() ? buffers_.patches[place] : place; }
  bool has_windows() const { return config().window > 0; }
  // Returns the number of rows whose patches fit into a batch, at least 1.
  size_t merged_batch() const;

  void project(const float* x, size_t n_rows, std::initializer_list<Projection> projections) {
    project_rows(kernels(), *pool_, buffers_.projections, x, n_rows, projections);
  }
  // out = norm(x), for rows as wide as the norm. Does nothing if there is no norm. out may be x.
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
  std::vector<Batch> windows_;  // the windows in the stream, in order
  AlignedBuffer memory_;
};

}  // namespace kinglet
