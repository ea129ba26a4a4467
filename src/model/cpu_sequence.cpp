#include "model/cpu_sequence.h"

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "base/format.h"
#include "model/shift.h"

namespace kinglet {

namespace {

Result<uint32_t> context_of(const Model& model, const SequenceOptions& options) {
  KINGLET_TRY(check_has_weights(model));
  KINGLET_TRY(check_makes_text(model.config()));
  const uint32_t trained = model.config().context_length;
  const uint32_t n_ctx = options.n_ctx == 0 ? std::min(trained, kDefaultMaxCtx) : options.n_ctx;
  if (n_ctx > trained) {
    return Error{ErrorCode::invalid_argument,
                 cat("a context of ", n_ctx,
                     " positions was requested, but the model was trained for ", trained)};
  }
  return n_ctx;
}

Status check_batch(const SequenceOptions& options) {
  if (options.n_batch > 0) return {};
  return Error{ErrorCode::invalid_argument,
               "a batch of 0 tokens was requested, expected at least 1"};
}

KvStoreConfig store_config(const Model& model, uint32_t n_positions, uint32_t page_positions,
                           KvKind k_kind, KvKind v_kind) {
  return {.rows = model.state_shape().rows,
          .k_kind = k_kind,
          .v_kind = v_kind,
          .page_positions = page_positions,
          .n_pages = page_positions == 0 ? 0 : (n_positions - 1) / page_positions + 1};
}

// The sizes of a sequence that has stores of its own.
struct Plan {
  uint32_t n_ctx;
  uint32_t n_batch;
  KvPlan kv;
};

Result<Plan> plan_of(const Model& model, const SequenceOptions& options) {
  KINGLET_ASSIGN(const uint32_t n_ctx, context_of(model, options));
  KINGLET_TRY(check_batch(options));
  Plan plan{.n_ctx = n_ctx, .n_batch = std::min(options.n_batch, n_ctx), .kv = {}};
  const bool is_paged = options.page_positions > 0 && options.page_positions < n_ctx;
  if (!is_paged && options.pool_positions <= n_ctx && !options.keeps_all_rows) {
    plan.kv =
        plan_windows(model.state_shape().rows, options.k_kind, options.v_kind, n_ctx, plan.n_batch);
    return plan;
  }
  plan.kv = plan_one_store(store_config(model, std::max(n_ctx, options.pool_positions),
                                        is_paged ? options.page_positions : n_ctx, options.k_kind,
                                        options.v_kind));
  return plan;
}

}  // namespace

Result<std::shared_ptr<KvStore>> make_kv_store(const Model& model, uint32_t n_positions,
                                               uint32_t page_positions, KvKind k_kind,
                                               KvKind v_kind) {
  return KvStore::create(store_config(model, n_positions, page_positions, k_kind, v_kind));
}

Result<SequenceBytes> CpuSequence::bytes_of(const Model& model, size_t n_threads,
                                            const SequenceOptions& options) {
  KINGLET_ASSIGN(const Plan plan, plan_of(model, options));
  return SequenceBytes{.n_ctx = plan.n_ctx,
                       .k_kind = options.k_kind,
                       .v_kind = options.v_kind,
                       .kv = plan.kv.bytes(),
                       .recurrent = recurrent_state_bytes(model.state_shape().n_recurrent),
                       .scratch = Scratch::bytes_of(model, plan.n_batch, n_threads)};
}

Result<std::unique_ptr<CpuSequence>> CpuSequence::create(const Model& model, ThreadPool& pool,
                                                         const SequenceOptions& options) {
  KINGLET_ASSIGN(const Plan plan, plan_of(model, options));
  KINGLET_ASSIGN(SequenceState state,
                 SequenceState::create(plan.kv, model.state_shape().n_recurrent, plan.n_ctx));
  return create_with(std::move(state), model, pool, plan.n_batch);
}

Result<std::unique_ptr<CpuSequence>> CpuSequence::create_in(std::shared_ptr<KvStore> store,
                                                            const Model& model, ThreadPool& pool,
                                                            const SequenceOptions& options) {
  KINGLET_ASSIGN(const uint32_t n_ctx, context_of(model, options));
  KINGLET_TRY(check_batch(options));
  KINGLET_ASSIGN(SequenceState state,
                 SequenceState::create(std::move(store), model.state_shape().n_recurrent, n_ctx));
  return create_with(std::move(state), model, pool, std::min(options.n_batch, n_ctx));
}

Result<std::unique_ptr<CpuSequence>> CpuSequence::create_with(SequenceState state,
                                                              const Model& model, ThreadPool& pool,
                                                              uint32_t n_batch) {
  KINGLET_ASSIGN(Scratch scratch, Scratch::create(model, n_batch, pool.n_threads()));
  return std::unique_ptr<CpuSequence>(
      new CpuSequence(model, pool, std::move(state), std::move(scratch)));
}

Result<std::unique_ptr<Sequence>> CpuSequence::fork() const {
  KINGLET_ASSIGN(SequenceState state, state_.fork());
  KINGLET_ASSIGN(auto forked, create_with(std::move(state), model_, pool_, n_batch()));
  return std::unique_ptr<Sequence>(std::move(forked));
}

SequenceBytes CpuSequence::bytes() const {
  const KvStoreConfig& store = state_.rows().store().config();
  return {.n_ctx = state_.capacity(),
          .k_kind = store.k_kind,
          .v_kind = store.v_kind,
          .kv = state_.kv_bytes(),
          .recurrent = state_.recurrent().bytes(),
          .scratch = scratch_.bytes()};
}

Status CpuSequence::forward(std::span<const int32_t> tokens, const StepOptions& options) {
  return kinglet::forward(model_, pool_, scratch_, state_, tokens, options.output,
                          options.cancellation, options.n_guesses, options.images);
}

std::span<float> CpuSequence::logits(uint32_t row) {
  const size_t n = model_.config().vocab_size;
  return {scratch_.logits + row * n, n};
}

Status CpuSequence::grow_batch(uint32_t n_batch) {
  InputObserver* const observer = scratch_.observer;
  KINGLET_ASSIGN(scratch_, Scratch::create(model_, n_batch, pool_.n_threads()));
  scratch_.observer = observer;
  return {};
}

// Up to the end of the last page.
uint32_t CpuSequence::room_after(uint32_t n) const {
  const uint32_t end_of_page =
      static_cast<uint32_t>(round_up(n, state_.rows().store().config().page_positions));
  return std::min(end_of_page, state_.capacity()) - n;
}

Status CpuSequence::shift(uint32_t first, uint32_t n) {
  return shift_positions(model_, state_, first, n);
}

SavedRows CpuSequence::saved_rows() const {
  const KvStoreConfig& store = state_.rows().store().config();
  return {.shapes = model_.state_shape().rows,
          .k_kind = store.k_kind,
          .v_kind = store.v_kind,
          .n_positions = state_.size(),
          .n_spare = state_.n_spare()};
}

void CpuSequence::save(std::span<std::byte> rows, std::span<std::byte> recurrent) const {
  state_.save_rows(saved_rows(), rows);
  const std::span<const std::byte> floats = state_.recurrent().as_bytes();
  std::copy(floats.begin(), floats.end(), recurrent.begin());
}

Result<std::unique_ptr<CpuJointPass>> CpuJointPass::create(const Model& model, ThreadPool& pool,
                                                           uint32_t n_most) {
  if (!can_run_together(model)) return std::unique_ptr<CpuJointPass>();
  KINGLET_ASSIGN(Scratch scratch, Scratch::create(model, n_most, pool.n_threads(), n_most));
  return std::unique_ptr<CpuJointPass>(new CpuJointPass(model, pool, std::move(scratch)));
}

Status CpuJointPass::run(std::span<Sequence* const> sequences, std::span<const int32_t> tokens) {
  std::vector<SequenceState*> states;
  for (Sequence* sequence : sequences) {
    states.push_back(&static_cast<CpuSequence*>(sequence)->state_);
  }
  KINGLET_TRY(forward_together(model_, pool_, scratch_, states, tokens));
  const size_t n = model_.config().vocab_size;
  for (size_t i = 0; i < sequences.size(); ++i) {
    std::copy_n(scratch_.logits + i * n, n, sequences[i]->logits(0).begin());
  }
  return {};
}

}  // namespace kinglet
