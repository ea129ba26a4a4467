#include "model/scratch.h"

#include <algorithm>

#include "base/arena.h"

namespace kinglet {
namespace {

ScratchNeeds all_needs(const Model& model, const BatchShape& batch, const ScratchNeeds& others) {
  ScratchNeeds needs = others;
  for (const Layer& layer : model.weights().layers) {
    needs.include(layer.mixer->scratch_needs(batch));
    if (layer.ffn != nullptr) needs.include(layer.ffn->scratch_needs(batch));
    if (layer.input != nullptr) needs.include(layer.input->scratch_needs(batch));
  }
  needs.include(model.weights().head.scratch_needs(batch));
  return needs;
}

}  // namespace

Scratch::Scratch(const Model& model, uint32_t batch, uint32_t most_logit_rows)
    : n_batch(batch),
      n_logit_rows(model.config().makes_text() ? std::min(batch, most_logit_rows) : 0) {}

Result<Scratch> Scratch::create(const Model& model, uint32_t n_batch, size_t n_threads,
                                uint32_t n_logit_rows, const ScratchNeeds& others) {
  const ScratchNeeds needs = all_needs(model, {n_batch, n_threads}, others);
  Scratch scratch(model, n_batch, n_logit_rows);
  KINGLET_ASSIGN(scratch.memory,
                 AlignedBuffer::allocate(scratch.lay_out(model, needs, Arena()), "scratch memory"));
  scratch.lay_out(model, needs, Arena(scratch.memory.data()));
  return scratch;
}

uint64_t Scratch::bytes_of(const Model& model, uint32_t n_batch, size_t n_threads,
                           uint32_t n_logit_rows, const ScratchNeeds& others) {
  const ScratchNeeds needs = all_needs(model, {n_batch, n_threads}, others);
  return Scratch(model, n_batch, n_logit_rows).lay_out(model, needs, Arena());
}

// Returns the bytes. No product here overflows: config's dimensions are at most 2^20, the batch
// 2^32.
uint64_t Scratch::lay_out(const Model& model, const ScratchNeeds& needs, Arena arena) {
  const ModelConfig& config = model.config();
  const Weights& weights = model.weights();
  const uint64_t rows = n_batch;
  hidden = arena.take<float>(rows * config.hidden_dim);
  normed = arena.take<float>(rows * config.hidden_dim);
  projection = arena.take<float>(rows * config.hidden_dim);
  for (size_t i = 0; i < kRotationTables; ++i) {
    angles[i].n_pairs = config.n_pairs(i);
    angles[i].cosines = arena.take<float>(rows * angles[i].n_pairs);
    angles[i].sines = arena.take<float>(rows * angles[i].n_pairs);
  }
  const uint64_t n_inputs = rows * config.n_layers * config.layer_input_dim;
  const bool has_table =
      config.architecture->embedding.layer_inputs == LayerInputs::projection_and_table;
  layer_inputs = arena.take<float>(config.architecture->is_encoder() ? 0 : n_inputs);
  layer_table_rows = arena.take<float>(has_table ? n_inputs : 0);
  logits = arena.take<float>(uint64_t{n_logit_rows} * config.vocab_size);
  static_cast<ProjectionScratch&>(*this) =
      ProjectionScratch::take(arena, model.kernels(), rows, needs.row_width, model.header());
  stored_rows = arena.take<std::byte>(
      rows * std::max(weights.token_embedding.row_bytes(), weights.layer_inputs.table.row_bytes()));
  blocks = arena.take<std::byte>(needs.n_bytes);
  return arena.n_bytes();
}

}  // namespace kinglet
