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

// What a step computes beside the sequence's state.
enum class Output : uint8_t {
  none,
  logits,  // scratch.logits, after the last token and each guess
  hidden,  // scratch.normed [n_tokens]: the final states of all tokens, after the last norm
};

// ErrorCode::cancelled names the layer that is not run any more.
Status check_cancelled(const Cancellation& cancellation, size_t layer, size_t n_layers);

// ErrorCode::invalid_argument names a token that is outside the model's vocabulary.
Status check_vocabulary(const Model& model, int32_t token);
Status check_vocabulary(const Model& model, std::span<const int32_t> tokens);

// Appends 1 to scratch.n_batch tokens to the sequence. Where one of `images`, which are those of
// the sequence, stands, its rows go in and the ids do not matter; rows that see each other are a
// step of their own. On an error it is as it was.
// ErrorCode::context_full; cancelled, heard of before each layer; invalid_argument (a token outside
// the vocabulary, or no tokens, or rows of a picture that are not known); unsupported_feature (an
// encoder, or logits of a model that makes embeddings); those of EmbeddingTable::read().
//
// The last n_guesses < scratch.n_logit_rows of the tokens may be guesses of what comes next: the
// state is then left for the caller to commit, as far as they were right, or to roll back.
Status forward(const Model& model, ThreadPool& pool, Scratch& scratch, SequenceState& state,
               std::span<const int32_t> tokens, Output output,
               const Cancellation& cancellation = {}, size_t n_guesses = 0,
               PlacedImages images = {});

// Appends tokens[i] to *states[i], for all of up to scratch.n_batch different sequences of one
// capacity in one pass: weights are read once for all of them. scratch.logits, which must have as
// many rows, are those after each token, and what forward() would give, bit for bit. The states
// are left for the caller to commit or to roll back; after an error they are as they were.
// ErrorCode::unsupported_feature (see can_run_together()); those of forward().
Status forward_together(const Model& model, ThreadPool& pool, Scratch& scratch,
                        std::span<SequenceState* const> states, std::span<const int32_t> tokens);

// Whether the model's tokens learn of others by attention alone: recurrent states are computed one
// sequence at a time.
bool can_run_together(const Model& model);

}  // namespace kinglet
