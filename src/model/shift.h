// Makes room in a full context.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kv/sequence_state.h"
#include "model/model.h"

namespace kinglet {

// Checks that positions of this model can be dropped. ErrorCode::unsupported_feature if positions
// are learned, if keys are normalized after they are rotated, or if layers keep a recurrent state,
// from which single positions cannot be removed.
Status check_can_shift(const Model& model);

// Drops the positions [first, first + n) from the sequence. Later keys are rotated back by n
// positions, which is exact except for rounding (RoFormer, 2021). If windows lack rows that a token
// would see then, the sequence is cut instead: see SequenceState::drop().
// Errors: those of check_can_shift(); ErrorCode::invalid_argument past the end; out_of_memory if
// shared pages cannot be copied. After an error nothing has changed.
Status shift_positions(const Model& model, SequenceState& state, uint32_t first, uint32_t n);

}  // namespace kinglet
