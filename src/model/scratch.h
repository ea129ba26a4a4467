// The intermediate results of a step, allocated once for the largest batch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "kernels/kernels.h"
#include "model/config.h"
#include "model/experts.h"

namespace kinglet {

// What positions are rotated by, n_batch rows of each.
struct Angles {
  float* cosines = nullptr;  // [rope.dim / 2]
  float* sines = nullptr;    // [rope.dim / 2]
};

struct Scratch {
  // n_threads: of the pool that steps will run on.
  static Result<Scratch> create(const ModelConfig& config, uint32_t n_batch, size_t n_threads);

  uint64_t bytes() const { return memory.size(); }

  // What attend() needs on thread `thread`.
  std::byte* attention_of(size_t thread) { return per_thread + thread * per_thread_bytes; }

  // n_batch rows of each, unless noted.
  float* hidden = nullptr;      // [hidden_dim]: the residual stream
  float* normed = nullptr;      // [hidden_dim]
  float* query = nullptr;       // [q_dim]
  float* key = nullptr;         // [kv_dim]
  float* value = nullptr;       // [kv_dim]
  float* attention = nullptr;   // [q_dim]
  float* projection = nullptr;  // [hidden_dim]: what a block adds to the stream
  float* gate = nullptr;        // [ffn_dim]
  float* up = nullptr;          // [ffn_dim]
  Angles angles[kRotationTables];
  float* logits = nullptr;  // [vocab_size], one row in all

  // Where there are experts.
  float* router = nullptr;          // [n_experts]: its logits
  ExpertChoice* choices = nullptr;  // [n_experts_used]
  uint32_t* routed = nullptr;       // one each: the tokens that chose an expert,
  float* expert_input = nullptr;    // [hidden_dim]: their rows,
  float* expert_output = nullptr;   // [hidden_dim]: and what it makes of them

  // Quantized activations, as wide as the widest of the rows above.
  std::byte* codes = nullptr;
  float* scales = nullptr;
  int32_t* sums = nullptr;
  int32_t* half_sums = nullptr;

  std::byte* per_thread = nullptr;  // [n_threads][per_thread_bytes]
  size_t per_thread_bytes = 0;
  uint32_t n_batch = 0;

  AlignedBuffer memory;
};

}  // namespace kinglet
