// Preparing a model while its file arrives: what reads the file has little to compute, and what
// computes has little to wait for.
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
#include "model/early_weights.h"
#include "text/tokenizer.h"

namespace kinglet {

// What is ready when the file is complete; load_language_model() does the rest.
struct Prepared {
  std::optional<Result<std::unique_ptr<Tokenizer>>> tokenizer;
  EarlyWeights weights;
};

// Other threads of a pool work while bytes are written to a loader; a pool of one thread works in
// advance(), while the bytes are in its cache.
class Preparation {
 public:
  // The pool serves nothing else until finish().
  Preparation(const KernelSet& kernels, ThreadPool& pool) : kernels_(kernels), pool_(pool) {}
  ~Preparation() { end_round(); }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  // To be called whenever bytes were committed. Never waits for other threads.
  void advance(GgufLoader& loader);

  // Ends what is left of a complete file, or what was begun of another one, before the loader
  // finishes.
  Prepared finish(GgufLoader& loader);

 private:
  // A round of the pool: pages for bytes that come next, the tokenizer if it is due, and parts of
  // matrices.
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
  bool is_given_up_ = false;
  AlignedBuffer room_;  // [threads][room_bytes]
  Prepared prepared_;
  const std::byte* data_ = nullptr;
  size_t touched_ = 0;  // bytes of the data section before this round
  size_t n_touched_ = 0;
  bool makes_tokenizer_ = false;
  std::vector<EarlyWeights::Part> parts_;
  Run run_{this};
};

}  // namespace kinglet
