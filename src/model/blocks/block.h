// The blocks of a layer: a mixer, in which tokens see each other, and a feed-forward block, which
// works on each token alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/arena.h"
#include "base/result.h"

namespace kinglet {

class Step;

// The number of tokens in a batch, and of the threads that work on it.
struct BatchShape {
  uint64_t n_tokens;
  uint64_t n_threads;
};

// The memory that a block needs while it runs.
struct ScratchNeeds {
  uint64_t n_bytes = 0;    // of the arena
  uint64_t row_width = 0;  // columns of the widest matrix, whose input may be quantized

  void include(const ScratchNeeds& other) {
    n_bytes = std::max(n_bytes, other.n_bytes);
    row_width = std::max(row_width, other.row_width);
  }
};

// A block knows its tensors, its intermediate results and the state it keeps, and no other block.
class Block {
 public:
  virtual ~Block() = default;

  // Computes what depends on the values of weights. It is called once, when they have arrived.
  virtual void derive() {}

  virtual ScratchNeeds scratch_needs(const BatchShape& batch) const = 0;

  // Only in encoders: computes what rows of other batches need from the step's rows. It is called
  // for all batches before run() is called for the first one.
  virtual void prepare(Step& /*step*/, Arena /*arena*/, const float* /*x*/) const {}

  // out [n_tokens][hidden_dim] = the block's output for the step's rows x [n_tokens][hidden_dim].
  // Stores what later steps need in the step's sequence. `arena` has room for scratch_needs().
  // Errors: those of the sequence.
  virtual Status run(Step& step, Arena arena, const float* x, float* out) const = 0;
};

}  // namespace kinglet
