// Packs a file's weights while the file arrives: the thread that reads the file has little to
// compute, and the threads that compute have little to wait for.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "gguf/file.h"
#include "model/weight_fill.h"

namespace kinglet {

// The parts of a model that can be made before its file is complete.
class Preparable {
 public:
  // Takes the tensors of a file whose header has arrived. Returns what packs the weights, which
  // must outlive the preparation; null if they cannot be packed: loading reports why.
  virtual WeightFill* bind(GgufFile& file) = 0;

  // Makes what needs only the header. Called once, on any thread, while weights are packed.
  virtual void read(const GgufHeader& /*header*/) {}

 protected:
  ~Preparable() = default;
};

// The other threads of a pool work while bytes are written to a loader. A pool of one thread works
// in advance(), while the bytes are in its cache.
class Preparation {
 public:
  // The pool serves nothing else until finish().
  Preparation(Preparable& model, ThreadPool& pool) : model_(model), pool_(pool) {}
  ~Preparation() { end_round(); }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  // Call this each time bytes were committed. Never waits for other threads.
  void advance(GgufLoader& loader);

  // Completes the preparation if the file is complete; otherwise only what was begun. Call this
  // before the loader finishes.
  void finish(GgufLoader& loader);

 private:
  // A round of the pool: touches pages for the next bytes, lets the model read the header in the
  // first round, and packs parts of matrices.
  struct Run {
    Preparation* owner;
    void operator()(size_t i, size_t thread) const { owner->run(i, thread); }
  };

  bool begin(GgufLoader& loader);
  void plan_touching(std::span<const std::byte> arrived);
  void begin_round(GgufLoader& loader, size_t bytes);
  void end_round();
  void run(size_t i, size_t thread);

  Preparable& model_;
  ThreadPool& pool_;
  GgufFile* file_ = nullptr;
  AlignedBuffer room_;  // [threads][room_bytes]
  const std::byte* data_ = nullptr;
  size_t touched_ = 0;  // bytes of the data section before this round
  size_t n_touched_ = 0;
  bool has_read_ = false;       // the header
  bool reads_now_ = false;      // in this round
  WeightFill* fill_ = nullptr;  // null if the weights cannot be packed
  std::vector<WeightFill::Part> parts_;
  Run run_{this};
};

}  // namespace kinglet
