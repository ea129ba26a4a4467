// Making room in a full context.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kv/sequence_state.h"
#include "model/model.h"

namespace kinglet {

// Whether positions of this model can be dropped at all. ErrorCode::unsupported_feature where
// positions are learned or layers keep a recurrent state, which holds what is to be dropped.
Status check_can_shift(const Model& model);

// Drops the positions [first, first + n) from the sequence. Later keys are rotated back by n
// positions, which for rotary positions (RoFormer, 2021) is exact but for rounding. Where windows
// do not hold what a token would see then, the sequence is cut in place of that: see
// SequenceState::drop().
// Errors: those of check_can_shift(); ErrorCode::invalid_argument past the end; out_of_memory where
// shared pages cannot be copied. Nothing has changed then.
Status shift_positions(const Model& model, SequenceState& state, uint32_t first, uint32_t n);

}  // namespace kinglet
