// A conversation with a model: its KV cache and scratch memory, and the step that grows them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kv/kv_cache.h"
#include "model/model.h"

namespace kinglet {

struct SessionOptions {
  uint32_t n_ctx = 0;    // positions in the KV cache; 0 takes the model's context length
  uint32_t n_batch = 64; // tokens that a step computes together; more are cut into batches
  KvKind k_kind = KvKind::f32;
  KvKind v_kind = KvKind::f32;
};

class Session {
 public:
  // `model` and `pool` must outlive the session. Everything is allocated here.
  static Result<std::unique_ptr<Session>> create(const Model& model, ThreadPool& pool,
                                                 const SessionOptions& options);

  // Appends tokens to the context, in batches. On an error the context is as it was.
  // ErrorCode::context_full, invalid_argument (an id outside the vocabulary).
  Status append(std::span<const TokenId> tokens);

  // Logits [n_tokens] behind the last appended token. Overwritten by the next append.
  std::span<float> logits();

  // Forgets every position from `n_positions` on.
  Status truncate(uint32_t n_positions);

  uint32_t n_positions() const;
  uint32_t n_ctx() const;
  uint64_t kv_bytes() const;
  uint64_t scratch_bytes() const;
};

}  // namespace kinglet
