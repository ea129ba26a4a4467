// The transformer: tokens in, logits out.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kv/kv_cache.h"
#include "model/model.h"
#include "model/scratch.h"

namespace kinglet {

// Appends 1 to scratch.n_batch tokens to the cache. With want_logits, scratch.logits receives the
// logits behind the last one. On an error the cache is as it was.
// ErrorCode::context_full; invalid_argument (a token outside the vocabulary, or no tokens).
Status forward(const Model& model, ThreadPool& pool, Scratch& scratch, KvCache& cache,
               std::span<const int32_t> tokens, bool want_logits);

}  // namespace kinglet
