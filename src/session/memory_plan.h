// Plans the memory of a model from the header of its file, with the code that will load it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "gguf/file.h"
#include "kernels/kernels.h"
#include "model/sequence.h"

namespace kinglet {

// Bytes.
struct MemoryPlan {
  uint64_t file = 0;      // the whole file
  uint64_t weights = 0;   // that will be in memory
  uint64_t stored = 0;    // tables that stay in the file
  SequenceBytes session;  // 0 for a model that makes no text
  uint64_t encoder = 0;   // for the longest text; 0 for a model that makes text
};

// `outline`: see GgufFile::outline(). A file without weights needs no further memory.
// Errors: those of bind_weights and CpuSequence::bytes_of().
Result<MemoryPlan> plan_memory(GgufFile outline, const KernelSet& kernels, size_t n_threads,
                               const SequenceOptions& options);

// The tokens of the longest text for which an encoder's memory is planned.
constexpr uint32_t kMostEncoded = 8192;

}  // namespace kinglet
