// Estimates how fast a model runs on this machine, from the header of its file.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "base/thread_pool.h"
#include "gguf/file.h"
#include "kernels/kernels.h"

namespace kinglet {

struct SpeedEstimate {
  size_t n_threads = 1;       // on which the times were measured
  double token_seconds = 0;   // for each token of an answer; 0 if the model makes no text
  double prompt_seconds = 0;  // for each token of a prompt, or of a text to embed
};

// Measures the products that a token needs, with matrices of the model's shapes and types, and adds
// their times. What else a token needs (attention to the tokens before it, norms, sampling) is left
// out, so the model will be somewhat slower. `outline`: see GgufFile::outline(). Limits the pool to
// the fastest number of threads if `chooses_threads`, as choose_threads() does. Takes a quarter of
// a second. Errors: those of bind_weights; missing_tensor if the file has no weights;
// out_of_memory.
Result<SpeedEstimate> estimate_speed(GgufFile outline, const KernelSet& kernels, ThreadPool& pool,
                                     bool chooses_threads);

}  // namespace kinglet
