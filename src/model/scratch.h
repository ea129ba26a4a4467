// The intermediate results of a step, allocated once for the largest batch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "kernels/kernels.h"
#include "model/config.h"
#include "model/model.h"
#include "model/projection.h"

namespace kinglet {

// The angles of positions, n_batch rows of each.
struct Angles {
  size_t n_pairs = 0;        // of elements
  float* cosines = nullptr;  // [n_pairs]
  float* sines = nullptr;    // [n_pairs]
};

// The most rows of logits that a step of a sequence computes: see forward().
constexpr uint32_t kMostLogitRows = 8;

struct Scratch : ProjectionScratch {
  Scratch() = default;

  // n_threads: the size of the pool on which steps will run. n_logit_rows: the most rows of logits,
  // if the model generates text. `others`: what else runs in the steps, other than the model's
  // blocks.
  static Result<Scratch> create(const Model& model, uint32_t n_batch, size_t n_threads,
                                uint32_t n_logit_rows = kMostLogitRows,
                                const ScratchNeeds& others = {});

  // The bytes that create() would allocate.
  static uint64_t bytes_of(const Model& model, uint32_t n_batch, size_t n_threads,
                           uint32_t n_logit_rows = kMostLogitRows, const ScratchNeeds& others = {});

  uint64_t bytes() const { return memory.size(); }

  // n_batch rows of each, unless noted.
  float* hidden = nullptr;      // [hidden_dim]: the residual stream
  float* normed = nullptr;      // [hidden_dim]
  float* projection = nullptr;  // [hidden_dim]: what a block adds to the stream
  Angles angles[kRotationTables];
  float* layer_inputs = nullptr;      // [n_layers * layer_input_dim]; encoders: see EncoderRows
  float* layer_table_rows = nullptr;  // the same, of the table, if the model has one
  float* logits = nullptr;            // [vocab_size], n_logit_rows in all

  std::byte* stored_rows = nullptr;  // rows of embedding tables, as they are in the file
  std::byte* blocks = nullptr;       // scratch memory of the block that runs
  uint32_t n_batch = 0;
  uint32_t n_logit_rows = 0;

  AlignedBuffer memory;

 private:
  Scratch(const Model& model, uint32_t batch, uint32_t most_logit_rows);
  uint64_t lay_out(const Model& model, const ScratchNeeds& needs, Arena arena);
};

}  // namespace kinglet
