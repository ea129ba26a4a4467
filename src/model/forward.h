// The transformer: tokens in, logits out.
#pragma once

#include <cstdint>
#include <span>

#include "base/cancellation.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "kv/sequence_state.h"
#include "model/images.h"
#include "model/model.h"
#include "model/scratch.h"

namespace kinglet {

// What a step computes in addition to the sequence's state.
enum class Output : uint8_t {
  none,
  logits,  // scratch.logits: after the last token and after each guess
  hidden,  // scratch.normed [n_tokens]: the last hidden states of all tokens, normalized
};

// ErrorCode::cancelled names the first layer that was not run.
Status check_cancelled(const Cancellation& cancellation, size_t layer, size_t n_layers);

// ErrorCode::invalid_argument names a token that is outside the model's vocabulary.
Status check_vocabulary(const Model& model, int32_t token);
Status check_vocabulary(const Model& model, std::span<const int32_t> tokens);

// Appends 1 to scratch.n_batch tokens to the sequence. `images` are the sequence's pictures: at
// their positions their rows are used and the ids are ignored. Rows that see each other must be a
// step of their own. After an error the sequence is as it was before.
// ErrorCode::context_full; cancelled, checked before each layer; invalid_argument (no tokens, a
// token outside the vocabulary, or missing rows of a picture); unsupported_feature (an encoder, or
// logits of an embedding model); those of EmbeddingTable::read().
//
// The last n_guesses < scratch.n_logit_rows tokens may be guesses. The state is then not committed:
// the caller commits as many guesses as were right, and rolls back the rest.
Status forward(const Model& model, ThreadPool& pool, Scratch& scratch, SequenceState& state,
               std::span<const int32_t> tokens, Output output,
               const Cancellation& cancellation = {}, size_t n_guesses = 0,
               PlacedImages images = {});

// Appends tokens[i] to *states[i] in one pass, so that weights are read once for all sequences: up
// to scratch.n_batch different ones of the same capacity. scratch.logits, which must have a row for
// each, are those that forward() would give, bit for bit. The caller commits the states or rolls
// them back; after an error they are as they were before.
// ErrorCode::unsupported_feature (see can_run_together()); those of forward().
Status forward_together(const Model& model, ThreadPool& pool, Scratch& scratch,
                        std::span<SequenceState* const> states, std::span<const int32_t> tokens);

// Whether all mixers of the model are attention. Recurrent states are computed one sequence at a
// time.
bool can_run_together(const Model& model);

}  // namespace kinglet
