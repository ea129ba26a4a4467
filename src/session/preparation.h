// Prepares a model while its file arrives: the thread that reads the file has little to compute,
// and the threads that compute have little to wait for.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "gguf/file.h"
#include "kernels/kernels.h"
#include "model/weights.h"
#include "text/tokenizer.h"

namespace kinglet {

// The parts of a model that are ready when the file is complete; load_language_model() does the
// rest.
struct Prepared {
  std::optional<Result<std::unique_ptr<Tokenizer>>> tokenizer;
  std::optional<Result<BoundWeights>> weights;
};

// The other threads of a pool work while bytes are written to a loader. A pool of one thread works
// in advance(), while the bytes are in its cache.
class Preparation {
 public:
  // The pool serves nothing else until finish().
  Preparation(const KernelSet& kernels, ThreadPool& pool) : kernels_(kernels), pool_(pool) {}
  ~Preparation() { end_round(); }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  // Call this each time bytes were committed. Never waits for other threads.
  void advance(GgufLoader& loader);

  // Completes the preparation if the file is complete; otherwise only what was begun. Call this
  // before the loader finishes.
  Prepared finish(GgufLoader& loader);

 private:
  // A round of the pool: touches pages for the next bytes, makes the tokenizer if there is none
  // yet, and packs parts of matrices.
  struct Run {
    Preparation* owner;
    void operator()(size_t i, size_t thread) const { owner->run(i, thread); }
  };

  bool begin(GgufLoader& loader);
  void plan_touching(std::span<const std::byte> arrived);
  void begin_round(GgufLoader& loader, size_t bytes);
  void end_round();
  void run(size_t i, size_t thread);

  const KernelSet& kernels_;
  ThreadPool& pool_;
  GgufFile* file_ = nullptr;
  AlignedBuffer room_;  // [threads][room_bytes]
  Prepared prepared_;
  const std::byte* data_ = nullptr;
  size_t touched_ = 0;  // bytes of the data section before this round
  size_t n_touched_ = 0;
  bool makes_tokenizer_ = false;
  WeightFill* fill_ = nullptr;  // of the prepared weights; null if they cannot be filled
  std::vector<WeightFill::Part> parts_;
  Run run_{this};
};

}  // namespace kinglet
