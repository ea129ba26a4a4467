// One batch of tokens on its way through the layers: the residual stream, and the operations on
// rows that all blocks use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "base/thread_pool.h"
#include "kv/sequence_state.h"
#include "model/blocks/block.h"
#include "model/encoder_rows.h"
#include "model/images.h"
#include "model/linear.h"
#include "model/model.h"
#include "model/projection.h"
#include "model/scratch.h"

namespace kinglet {

class Step {
 public:
  // For tokens, or rows of pictures, that are appended to a sequence.
  Step(const Model& model, ThreadPool& pool, Scratch& scratch, SequenceState& state,
       size_t n_tokens, PlacedImages images);

  // For one token each of several sequences of the same capacity.
  Step(const Model& model, ThreadPool& pool, Scratch& scratch,
       std::span<SequenceState* const> sequences);

  // For an encoder: its rows [first_row, first_row + n_tokens).
  Step(const Model& model, ThreadPool& pool, Scratch& scratch, const EncoderRows& rows,
       size_t first_row, size_t n_tokens);

  const ModelConfig& config() const { return model_.config(); }
  const KernelSet& kernels() const { return model_.kernels(); }
  ThreadPool& pool() const { return pool_; }
  size_t n_tokens() const { return n_tokens_; }
  BatchShape shape() const { return {n_tokens_, pool_.n_threads()}; }
  const Angles& angles(Rotation rotation) const { return angles_[static_cast<size_t>(rotation)]; }

  size_t position_of(size_t token) const;  // in its sequence or span

  // The number of positions that every token of the step sees, if they are rows of a picture that
  // see each other. 0 if each token sees only itself and those before it.
  size_t n_seen() const;

  // Only for a step of one sequence.
  SequenceState& state() const { return *state_; }

  // The sequence to which a token is appended.
  SequenceState& state_of(size_t token) const {
    return sequences_.empty() ? *state_ : *sequences_[token];
  }
  // Which of the tokens that are appended to its sequence a token is.
  uint32_t index_of(size_t token) const {
    return sequences_.empty() ? static_cast<uint32_t>(token) : 0;
  }
  // The number of consecutive tokens in each sequence: all tokens of the step, or 1.
  size_t n_successive() const { return sequences_.empty() ? n_tokens_ : 1; }

  // Only for an encoder's step.
  const EncoderRows& rows() const { return *rows_; }
  size_t first_row() const { return first_row_; }

  // --- The stream [n_tokens][hidden_dim] --------------------------------------------------------

  // Fills the stream with the tokens' embeddings or the rows of pictures, and computes the angles
  // of their positions. Errors: those of EmbeddingTable::read().
  Status embed(std::span<const int32_t> tokens);

  // Computes the angles by which the positions of tokens or rows rotate heads.
  void compute_angles();

  // The stream, normalized if the model has this norm. Valid until the next call.
  const float* normalize_stream(const Norm& norm);

  float* stream() const { return stream_; }

  // Memory for whatever runs next.
  Arena arena() const { return Arena(scratch_.blocks); }

  // Runs a block over rows x [n_tokens][hidden_dim].
  Status run(const Block& block, const float* x) {
    return block.run(*this, arena(), x, scratch_.projection);
  }

  // The first half of an encoder's block: see Block::prepare.
  void prepare(const Block& block, const float* x) { block.prepare(*this, arena(), x); }

  // A token's embedding for one layer, [layer_input_dim]; only in models that have them.
  const float* layer_input(size_t token, uint32_t layer) const {
    return layer_inputs_ + (token * config().n_layers + layer) * config().layer_input_dim;
  }

  // Adds the last block's output, normalized if the model has this norm.
  void add_to_stream(const Norm& norm);

  // Normalizes the stream itself, if the model has this norm.
  void replace_stream(const Norm& norm) {
    normalize(stream_, norm, n_tokens_, config().hidden_dim, stream_);
  }

  void scale_stream(float factor);

  // A copy of the stream, valid until the next normalize_stream(); and the call that adds it.
  const float* copy_stream();
  void add_to_stream(const float* rows);

  // Adds part `part` > 0 of the pictures' rows to the stream; each part is as wide as the stream.
  void add_image_parts(uint32_t part);

  // scratch.normed [n_tokens] = the stream, normalized by the output norm.
  void finish_hidden();

  // scratch.logits = the logits after each of the last n_rows tokens.
  void finish_logits(size_t n_rows);

  // --- Rows -------------------------------------------------------------------------------------

  // Multiplies rows x [n_rows][n_columns] by every matrix [.][n_columns], as one job that all
  // threads share. n_rows is at most the batch.
  void project(const float* x, size_t n_rows, std::initializer_list<Projection> projections) {
    project_rows(kernels(), pool_, scratch_, x, n_rows, projections);
  }

  // out = norm(x), applied to each piece of a row that is as wide as the norm. Does nothing without
  // a norm. out may be x.
  void normalize(const float* x, const Norm& norm, size_t n_rows, size_t n_columns, float* out);

  // Calls f(i) for i in [0, n). A single call does not wake other threads.
  template <class F>
  void for_each(size_t n, const F& f) const {
    if (n == 1) return f(size_t{0});
    pool_.for_range(n, 1, [&](size_t begin, size_t end, size_t) {
      for (size_t i = begin; i < end; ++i) f(i);
    });
  }

  // Calls f(begin, end) for parts of [0, n).
  template <class F>
  void for_each_part(size_t n, const F& f) const {
    pool_.for_range(n, kPartGrain, [&](size_t begin, size_t end, size_t) { f(begin, end); });
  }

 private:
  const float* image_row(size_t token) const;
  RopePosition rope_position_of(size_t token) const;
  void add_embedding(const PackedMatrix& table, size_t index, float* row);
  Status compute_layer_inputs(std::span<const int32_t> tokens);
  void compute_angles(Rotation rotation);

  const Model& model_;
  ThreadPool& pool_;
  Scratch& scratch_;
  SequenceState* state_ = nullptr;
  PlacedImages images_;
  std::span<SequenceState* const> sequences_;  // of each token; empty: all belong to state_
  const EncoderRows* rows_ = nullptr;
  size_t first_row_ = 0;
  size_t n_tokens_;
  float* stream_;        // [n_tokens][hidden_dim]
  float* layer_inputs_;  // [n_tokens][n_layers][layer_input_dim]
  Angles angles_[kRotationTables];
};

}  // namespace kinglet
