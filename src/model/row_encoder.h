// Runs the layers of an encoder over rows, whatever these are made of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "base/arena.h"
#include "base/cancellation.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "model/encoder_rows.h"
#include "model/model.h"
#include "model/scratch.h"
#include "model/step.h"

namespace kinglet {

// Layers run one after the other: attention needs the keys and values of all rows of a span, so the
// stream of all rows is kept, and rows are processed in batches. A span may be longer than a batch,
// a batch may contain several spans, and nothing is padded. A span's results do not depend, bit for
// bit, on other spans, on batches or on threads.
//
// For a causal model it has room for rows, but does not run layers.
class RowEncoder {
 public:
  // n_rows: the most rows; n_batch: rows that are computed together; `others`: the scratch memory
  // of what else runs in the steps, other than the model's blocks. The model and the pool must
  // outlive the encoder. ErrorCode::out_of_memory.
  static Result<RowEncoder> create(const Model& model, ThreadPool& pool, uint32_t n_rows,
                                   uint32_t n_batch, const ScratchNeeds& others = {});

  // The bytes that create() would allocate, for a pool of n_threads.
  static uint64_t bytes_of(const Model& model, size_t n_threads, uint32_t n_rows, uint32_t n_batch,
                           const ScratchNeeds& others = {});

  uint64_t bytes() const { return scratch_.bytes() + memory_.size(); }
  uint32_t capacity() const { return capacity_; }
  Scratch& scratch() { return scratch_; }
  EncoderRows& rows() { return rows_; }
  const EncoderRows& rows() const { return rows_; }

  // Divides the rows into spans of these lengths, at most capacity() in all. What the rows hold
  // stays as it is.
  void divide(std::span<const size_t> lengths);

  // A step of n rows, at most a batch.
  Step step(size_t first, size_t n) { return Step(*model_, *pool_, scratch_, rows_, first, n); }

  // Calls f(step) for all rows, in batches, until it fails.
  template <class F>
  Status for_each_batch(const F& f) {
    for (size_t first = 0; first < rows_.n_rows(); first += scratch_.n_batch) {
      Step batch = step(first, std::min<size_t>(scratch_.n_batch, rows_.n_rows() - first));
      KINGLET_TRY(f(batch));
    }
    return {};
  }

  // Runs one layer over all rows. ErrorCode::cancelled, checked before each batch.
  Status run_layer(size_t index, const Cancellation& cancellation);

  // Normalizes the rows after the last layer, if the model has such a norm.
  void finish();

 private:
  RowEncoder(const Model& model, ThreadPool* pool, uint32_t n_rows)
      : model_(&model), pool_(pool), capacity_(n_rows) {}

  uint64_t lay_out(Arena arena);

  const Model* model_;
  ThreadPool* pool_;
  uint32_t capacity_;
  EncoderRows rows_;
  Scratch scratch_;
  AlignedBuffer memory_;
};

}  // namespace kinglet
