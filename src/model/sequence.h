// The seam between a session and the machine that computes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/cancellation.h"
#include "base/result.h"
#include "kv/saved_rows.h"
#include "kv/sequence_state.h"
#include "model/forward.h"
#include "model/images.h"
#include "model/model.h"

namespace kinglet {

// Models are trained for up to a million positions; so much memory is only taken on request.
constexpr uint32_t kDefaultMaxCtx = 4096;

// A good page: small enough to waste little, large enough for attention to run well over it.
constexpr uint32_t kDefaultPagePositions = 32;

struct SequenceOptions {
  uint32_t n_ctx = 0;  // positions in the KV cache; 0: the model's, at most kDefaultMaxCtx
  // Tokens that one step computes together; longer appends are cut into batches. A picture whose
  // rows see each other is always one batch: batches grow with the first picture that is larger.
  uint32_t n_batch = 64;
  KvKind k_kind = KvKind::f32;
  KvKind v_kind = KvKind::f32;
  uint32_t page_positions = 0;  // positions per page; 0, or n_ctx and more: the cache is one piece
  uint32_t pool_positions = 0;  // in all pages of a sequence and its forks; at least n_ctx
  bool keeps_all_rows = false;  // also for layers with a window, as a cache of pages does
};

// The memory that a sequence takes, in bytes.
struct SequenceBytes {
  uint32_t n_ctx = 0;  // positions
  KvKind k_kind = KvKind::f32;
  KvKind v_kind = KvKind::f32;
  uint64_t kv = 0;
  uint64_t recurrent = 0;
  uint64_t scratch = 0;

  uint64_t sum() const { return kv + recurrent + scratch; }
};

// What a step computes.
struct StepOptions {
  Output output = Output::logits;  // hidden: not here
  // The last n_guesses tokens may be guesses: the step is then not committed, and logits() has a
  // row after each of them.
  uint32_t n_guesses = 0;
  Cancellation cancellation = {};
  PlacedImages images = {};  // the pictures of the sequence: at their positions their rows are used
};

// A sequence of tokens, in the memory of the machine that computes it: the state that the model's
// layers keep for it, and scratch memory. What the tokens mean is the session's business.
// CpuSequence is the one that computes here; another machine (a GPU, a worker, another computer) is
// another class with these functions. Each is called at most a few times a step, never for a row.
class Sequence {
 public:
  virtual ~Sequence() = default;

  virtual const Model& model() const = 0;
  virtual StoredState& state() = 0;
  virtual uint32_t n_batch() const = 0;       // the most tokens of a step
  virtual uint32_t n_logit_rows() const = 0;  // the most rows of logits of a step
  virtual SequenceBytes bytes() const = 0;

  // --- Steps ------------------------------------------------------------------------------------

  // Appends 1 to n_batch tokens. A step with guesses, or one of a JointPass, is left to commit.
  // Errors: those of kinglet::forward(), after which the sequence is as it was before.
  virtual Status forward(std::span<const int32_t> tokens, const StepOptions& options) = 0;

  // Row `row` of the last step's logits, [vocab_size]. The caller may change them.
  virtual std::span<float> logits(uint32_t row) = 0;

  // Lets steps have n_batch tokens. ErrorCode::out_of_memory.
  virtual Status grow_batch(uint32_t n_batch) = 0;

  // How many positions a step can append before it needs more memory than the sequence has taken,
  // from n positions on. Guesses stay within it.
  virtual uint32_t room_after(uint32_t n) const = 0;

  // --- Shift and fork ---------------------------------------------------------------------------

  // See shift_positions().
  virtual Status shift(uint32_t first, uint32_t n) = 0;

  // Another sequence with the same positions; its logits are undefined. ErrorCode::out_of_memory.
  virtual Result<std::unique_ptr<Sequence>> fork() const = 0;

  // --- Saving -----------------------------------------------------------------------------------

  // The format of what save() writes.
  virtual SavedRows saved_rows() const = 0;

  // Writes the rows, and the recurrent floats.
  virtual void save(std::span<std::byte> rows, std::span<std::byte> recurrent) const = 0;

  // The state, if it is in this process's memory, or null.
  virtual const SequenceState* state_here() const { return nullptr; }
};

// Computes one token each of several sequences of one machine at once, so that weights are read
// once for all of them.
class JointPass {
 public:
  virtual ~JointPass() = default;

  // The most sequences.
  virtual uint32_t n_most() const = 0;

  // Appends tokens[i] to *sequences[i], different ones of the same model and capacity. Row 0 of the
  // logits of each is the same, bit for bit, as if it were computed alone. The caller commits each
  // or rolls it back; after an error all are as they were before. Errors: those of
  // forward_together().
  virtual Status run(std::span<Sequence* const> sequences, std::span<const int32_t> tokens) = 0;
};

}  // namespace kinglet
