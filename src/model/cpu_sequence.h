// A sequence that the threads of a pool compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/thread_pool.h"
#include "model/scratch.h"
#include "model/sequence.h"

namespace kinglet {

// Pages that sequences of a model share: `n_positions` in all, `page_positions` in each page.
Result<std::shared_ptr<KvStore>> make_kv_store(const Model& model, uint32_t n_positions,
                                               uint32_t page_positions, KvKind k_kind,
                                               KvKind v_kind);

class CpuSequence final : public Sequence {
 public:
  // What create() would allocate, for a pool of n_threads. Errors: those of create(), except
  // out_of_memory.
  static Result<SequenceBytes> bytes_of(const Model& model, size_t n_threads,
                                        const SequenceOptions& options);

  // Allocates all memory that the sequence needs. `model` and `pool` must outlive it.
  // ErrorCode::invalid_argument (a batch of 0, a context longer than the model's), missing_tensor
  // (a model without weights), unsupported_feature (a model that makes vectors or scores but no
  // text), out_of_memory.
  static Result<std::unique_ptr<CpuSequence>> create(const Model& model, ThreadPool& pool,
                                                     const SequenceOptions& options);

  // The same with a cache in `store`, whose kinds and pages override those in the options.
  static Result<std::unique_ptr<CpuSequence>> create_in(std::shared_ptr<KvStore> store,
                                                        const Model& model, ThreadPool& pool,
                                                        const SequenceOptions& options);

  const Model& model() const override { return model_; }
  StoredState& state() override { return state_; }
  uint32_t n_batch() const override { return scratch_.n_batch; }
  uint32_t n_logit_rows() const override { return scratch_.n_logit_rows; }
  SequenceBytes bytes() const override;

  Status forward(std::span<const int32_t> tokens, const StepOptions& options) override;
  std::span<float> logits(uint32_t row) override;
  Status grow_batch(uint32_t n_batch) override;
  uint32_t room_after(uint32_t n) const override;

  Status shift(uint32_t first, uint32_t n) override;
  Result<std::unique_ptr<Sequence>> fork() const override;

  SavedRows saved_rows() const override;
  void save(std::span<std::byte> rows, std::span<std::byte> recurrent) const override;
  const SequenceState* state_here() const override { return &state_; }

  // Lets `observer`, which must outlive the sequence, see the inputs of the layers' matrices in all
  // later steps. Forks are not observed.
  void observe(InputObserver& observer) { scratch_.observer = &observer; }

 private:
  friend class CpuJointPass;

  CpuSequence(const Model& model, ThreadPool& pool, SequenceState state, Scratch scratch)
      : model_(model), pool_(pool), state_(std::move(state)), scratch_(std::move(scratch)) {}

  static Result<std::unique_ptr<CpuSequence>> create_with(SequenceState state, const Model& model,
                                                          ThreadPool& pool, uint32_t n_batch);

  const Model& model_;
  ThreadPool& pool_;
  SequenceState state_;
  Scratch scratch_;
};

class CpuJointPass final : public JointPass {
 public:
  // For up to n_most CpuSequences of the model and the pool, which must outlive it.
  // Null if the model's sequences are computed one at a time: see can_run_together().
  // ErrorCode::out_of_memory.
  static Result<std::unique_ptr<CpuJointPass>> create(const Model& model, ThreadPool& pool,
                                                      uint32_t n_most);

  uint32_t n_most() const override { return scratch_.n_logit_rows; }
  Status run(std::span<Sequence* const> sequences, std::span<const int32_t> tokens) override;

 private:
  CpuJointPass(const Model& model, ThreadPool& pool, Scratch scratch)
      : model_(model), pool_(pool), scratch_(std::move(scratch)) {}

  const Model& model_;
  ThreadPool& pool_;
  Scratch scratch_;
};

}  // namespace kinglet
