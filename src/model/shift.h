// Making room in a full context.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kv/kv_cache.h"
#include "model/model.h"

namespace kinglet {

// Drops the positions [first, first + n) from the cache. Later keys are rotated back by n
// positions, which for rotary positions (RoFormer, 2021) is exact but for rounding.
// ErrorCode::invalid_argument past the end; out_of_memory where shared pages cannot be copied;
// nothing has changed then.
Status shift_positions(const Model& model, KvCache& cache, uint32_t first, uint32_t n);

}  // namespace kinglet
