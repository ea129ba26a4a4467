#include "model/scratch.h"

#include <algorithm>

#include "base/arena.h"

namespace kinglet {
namespace {

ScratchNeeds needs_of_blocks(const Model& model, const BatchShape& batch) {
  ScratchNeeds needs;
  for (const Layer& layer : model.weights().layers) {
    needs.include(layer.mixer->scratch_needs(batch));
    if (layer.ffn != nullptr) needs.include(layer.ffn->scratch_needs(batch));
    if (layer.input != nullptr) needs.include(layer.input->scratch_needs(batch));
  }
  needs.include(model.weights().head.scratch_needs(batch));
  return needs;
}

}  // namespace

Result<Scratch> Scratch::create(const Model& model, uint32_t n_batch, size_t n_threads,
                                uint32_t n_logit_rows) {
  const ModelConfig& config = model.config();
  const Weights& weights = model.weights();
  const ScratchNeeds needs = needs_of_blocks(model, {n_batch, n_threads});
  const uint64_t rows = n_batch;
  const bool is_tabulated = needs_tables(model.header(), model.kernels());
  Scratch scratch;
  scratch.n_batch = n_batch;
  scratch.n_logit_rows = config.makes_text() ? std::min(n_batch, n_logit_rows) : 0;

  // No product here overflows: config's dimensions are at most 2^20, the batch 2^32.
  const auto lay_out = [&](Arena arena) {
    scratch.hidden = arena.take<float>(rows * config.hidden_dim);
    scratch.normed = arena.take<float>(rows * config.hidden_dim);
    scratch.projection = arena.take<float>(rows * config.hidden_dim);
    for (size_t i = 0; i < kRotationTables; ++i) {
      Angles& angles = scratch.angles[i];
      angles.n_pairs = config.n_pairs(i);
      angles.cosines = arena.take<float>(rows * angles.n_pairs);
      angles.sines = arena.take<float>(rows * angles.n_pairs);
    }
    scratch.layer_inputs = arena.take<float>(2 * rows * config.n_layers * config.layer_input_dim);
    scratch.logits = arena.take<float>(uint64_t{scratch.n_logit_rows} * config.vocab_size);
    static_cast<ProjectionScratch&>(scratch) =
        ProjectionScratch::take(arena, model.kernels(), rows, needs.row_width, is_tabulated);
    scratch.stored_rows =
        arena.take<std::byte>(rows * std::max(weights.token_embedding.row_bytes(),
                                              weights.layer_inputs.table.row_bytes()));
    scratch.blocks = arena.take<std::byte>(needs.n_bytes);
    return arena.n_bytes();
  };
  KINGLET_ASSIGN(scratch.memory, AlignedBuffer::allocate(lay_out(Arena()), "scratch memory"));
  lay_out(Arena(scratch.memory.data()));
  return scratch;
}

}  // namespace kinglet
