// A conversation with a model: its KV cache and scratch memory, and the step that grows them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kv/kv_cache.h"
#include "model/model.h"
#include "model/scratch.h"
#include "text/vocabulary.h"

namespace kinglet {

// Models are trained for up to a million positions; memory for them is only taken when asked for.
constexpr uint32_t kDefaultMaxCtx = 4096;

struct SessionOptions {
  uint32_t n_ctx = 0;     // positions in the KV cache; 0: the model's, at most kDefaultMaxCtx
  uint32_t n_batch = 64;  // tokens that a step computes together; more are cut into batches
  KvKind k_kind = KvKind::f32;
  KvKind v_kind = KvKind::f32;
};

class Session {
 public:
  // `model` and `pool` must outlive the session. Everything is allocated here.
  // ErrorCode::invalid_argument (a batch of 0, a context beyond the model's), out_of_memory.
  static Result<std::unique_ptr<Session>> create(const Model& model, ThreadPool& pool,
                                                 const SessionOptions& options);

  // Appends tokens to the context, in batches; without want_logits the logits are left undefined,
  // which saves their computation. On an error the context is as it was.
  // ErrorCode::context_full; invalid_argument (no tokens, an id outside the vocabulary);
  // not_finite (the logits hold NaN or infinity: the weights are damaged).
  Status append(std::span<const TokenId> tokens, bool want_logits = true);

  // Logits [vocab_size] behind the last appended token, until the next append.
  std::span<float> logits() { return {scratch_.logits, model_.config().vocab_size}; }

  // Forgets every position from n_positions on. ErrorCode::invalid_argument past the end.
  Status truncate(uint32_t n_positions) { return cache_.truncate(n_positions); }

  const Model& model() const { return model_; }
  uint32_t n_positions() const { return cache_.size(); }
  uint32_t n_ctx() const { return cache_.config().capacity; }
  uint32_t n_batch() const { return scratch_.n_batch; }
  uint64_t kv_bytes() const { return cache_.bytes(); }
  uint64_t scratch_bytes() const { return scratch_.bytes(); }

 private:
  Session(const Model& model, ThreadPool& pool, KvCache cache, Scratch scratch)
      : model_(model), pool_(pool), cache_(std::move(cache)), scratch_(std::move(scratch)) {}

  Status append_batches(std::span<const TokenId> tokens, bool want_logits);
  Status check_logits();

  const Model& model_;
  ThreadPool& pool_;
  KvCache cache_;
  Scratch scratch_;
};

}  // namespace kinglet
