#include "model/step.h"

#include <algorithm>
#include <cmath>

#include "base/sin_cos.h"
#include "kernels/packing.h"

namespace kinglet {
Step::Step(const Model& model, ThreadPool& pool, Scratch& scratch, SequenceState& state,
           size_t n_tokens, PlacedImages images)
    : model_(model),
      pool_(pool),
      scratch_(scratch),
      state_(&state),
      images_(images),
      n_tokens_(n_tokens),
      stream_(scratch.hidden),
      layer_inputs_(scratch.layer_inputs) {
  std::copy(std::begin(scratch.angles), std::end(scratch.angles), angles_);
}

Step::Step(const Model& model, ThreadPool& pool, Scratch& scratch,
           std::span<SequenceState* const> sequences)
    : Step(model, pool, scratch, *sequences.front(), sequences.size(), {}) {
  sequences_ = sequences;
}

Step::Step(const Model& model, ThreadPool& pool, Scratch& scratch, const EncoderRows& rows,
           size_t first_row, size_t n_tokens)
    : model_(model),
      pool_(pool),
      scratch_(scratch),
      rows_(&rows),
      first_row_(first_row),
      n_tokens_(n_tokens),
      stream_(rows.stream + first_row * config().hidden_dim),
      layer_inputs_(rows.layer_inputs + first_row * config().layer_inputs_width()) {
  for (size_t i = 0; i < kRotationTables; ++i) {
    const Angles& all = rows.angles[i];
    const size_t offset = first_row * all.n_pairs;
    angles_[i] = {all.n_pairs, all.cosines + offset, all.sines + offset};
  }
}

size_t Step::position_of(size_t token) const {
  if (rows_ == nullptr) return state_of(token).size() + token % n_successive();
  const size_t row = first_row_ + token;
  return row - rows_->span_of(row).first;
}

Status Step::embed(std::span<const int32_t> tokens) {
  const Weights& w = model_.weights();
  const size_t width = config().hidden_dim;
  KINGLET_TRY(w.token_embedding.read(tokens.first(n_tokens_), scratch_.stored_rows, stream_));
  for (size_t t = 0; t < n_tokens_; ++t) {
    float* row = stream_ + t * width;
    const float* of_image = image_row(t);
    if (of_image != nullptr) std::copy_n(of_image, width, row);
    // The scale sqrt(hidden_dim) is only for the small numbers of the table. Any other scale is
    // also for the rows of pictures.
    if (of_image == nullptr || !config().architecture->scales.embedding_by_width) {
      for (size_t i = 0; i < width; ++i) row[i] *= config().embedding_scale;
    }
    add_embedding(w.token_types, 0, row);
    add_embedding(w.position_embedding, position_of(t), row);
  }
  replace_stream(w.embedding_norm);
  if (config().layer_input_dim > 0) KINGLET_TRY(compute_layer_inputs(tokens));
  compute_angles();
  return {};
}

// Returns the row [image_width] of the picture at a token's position, or null if there is none.
const float* Step::image_row(size_t token) const {
  if (images_.empty()) return nullptr;
  const size_t at = position_of(token);
  const PlacedImage* placed = image_at(images_, at);
  if (placed == nullptr) return nullptr;
  return placed->image->rows.data() + (at - placed->first) * config().image_width();
}

// Adds a row of the table to a row of the stream, if there is a table.
void Step::add_embedding(const PackedMatrix& table, size_t index, float* row) {
  if (table.n_rows == 0) return;
  dequantize_row(table, index, scratch_.normed);
  kernels().add_scaled(row, scratch_.normed, 1.0f, config().hidden_dim);
}

// Computes the inputs of all layers: p = norm(projected embedding / sqrt(hidden_dim)), or with a
// table (p + sqrt(layer_input_dim) · the token's row) / sqrt(2).
Status Step::compute_layer_inputs(std::span<const int32_t> tokens) {
  constexpr int32_t kOfPictures = 0;  // rows of pictures have the padding token's row of the table
  const LayerInputWeights& w = model_.weights().layer_inputs;
  const size_t width = config().layer_inputs_width();
  project(stream_, n_tokens_, {{&w.projection, layer_inputs_}});
  const float shrink = 1.0f / std::sqrt(static_cast<float>(config().hidden_dim));
  for (size_t i = 0; i < n_tokens_ * width; ++i) layer_inputs_[i] *= shrink;
  normalize(layer_inputs_, w.norm, n_tokens_, width, layer_inputs_);
  if (config().architecture->embedding.layer_inputs == LayerInputs::projection) return {};

  const float scale = std::sqrt(static_cast<float>(config().layer_input_dim));
  const float share = std::sqrt(0.5f);
  float* const table_rows = scratch_.layer_table_rows;
  KINGLET_TRY(w.table.read(tokens.first(n_tokens_), scratch_.stored_rows, table_rows, kOfPictures));
  for (size_t t = 0; t < n_tokens_; ++t) {
    float* row = layer_inputs_ + t * width;
    kernels().add_scaled(row, table_rows + t * width, scale, width);
    for (size_t i = 0; i < width; ++i) row[i] *= share;
  }
  return {};
}

void Step::compute_angles() {
  compute_angles(Rotation::scaled);
  if (config().rope.has_local) compute_angles(Rotation::local);
}

void Step::compute_angles(Rotation rotation) {
  const uint32_t n_ctx = rows_ == nullptr ? state_->capacity() : config().context_length;
  const RopeTable& table = model_.rope_table(rotation, n_ctx);
  const Angles& angles = angles_[static_cast<size_t>(rotation)];
  for (size_t t = 0; t < n_tokens_; ++t) {
    const RopePosition at = rope_position_of(t);
    for (size_t i = 0; i < angles.n_pairs; ++i) {
      const auto [sin, cos] = sin_cos(at.of[table.axes[i]] * table.frequencies[i]);
      angles.cosines[t * angles.n_pairs + i] = table.magnitude * static_cast<float>(cos);
      angles.sines[t * angles.n_pairs + i] = table.magnitude * static_cast<float>(sin);
    }
  }
}

RopePosition Step::rope_position_of(size_t token) const {
  const bool has_sections = config().rope.has_sections();
  if (has_sections && rows_ != nullptr) return rows_->positions[first_row_ + token];
  return rope_position(has_sections ? images_ : PlacedImages(), position_of(token));
}

size_t Step::n_seen() const {
  const PlacedImage* placed = images_.empty() ? nullptr : image_at(images_, position_of(0));
  return placed != nullptr && placed->image->sees_all ? placed->end() : 0;
}

const float* Step::normalize_stream(const Norm& norm) {
  if (norm.weight == nullptr) return stream_;
  normalize(stream_, norm, n_tokens_, config().hidden_dim, scratch_.normed);
  return scratch_.normed;
}

void Step::add_to_stream(const Norm& norm) {
  const size_t width = config().hidden_dim;
  normalize(scratch_.projection, norm, n_tokens_, width, scratch_.projection);
  for_each(n_tokens_, [&](size_t t) {
    kernels().add_scaled(stream_ + t * width, scratch_.projection + t * width,
                         config().residual_scale, width);
  });
}

void Step::scale_stream(float factor) {
  if (factor == 1) return;
  for (size_t i = 0; i < n_tokens_ * config().hidden_dim; ++i) stream_[i] *= factor;
}

const float* Step::copy_stream() {
  std::copy_n(stream_, n_tokens_ * config().hidden_dim, scratch_.normed);
  return scratch_.normed;
}

void Step::add_to_stream(const float* rows) {
  kernels().add_scaled(stream_, rows, 1.0f, n_tokens_ * config().hidden_dim);
}

void Step::add_image_parts(uint32_t part) {
  const size_t width = config().hidden_dim;
  for (size_t t = 0; t < n_tokens_; ++t) {
    const float* row = image_row(t);
    if (row != nullptr) kernels().add_scaled(stream_ + t * width, row + part * width, 1.0f, width);
  }
}

void Step::finish_hidden() {
  normalize(stream_, model_.weights().output_norm, n_tokens_, config().hidden_dim, scratch_.normed);
}

void Step::finish_logits(size_t n_rows) {
  const Weights& w = model_.weights();
  const float* last = stream_ + (n_tokens_ - n_rows) * config().hidden_dim;
  const size_t n_logits = n_rows * config().vocab_size;
  normalize(last, w.output_norm, n_rows, config().hidden_dim, scratch_.normed);
  project(scratch_.normed, n_rows, {{&w.output, scratch_.logits}});
  if (config().logit_scale != 1) {
    for (size_t i = 0; i < n_logits; ++i) scratch_.logits[i] *= config().logit_scale;
  }
  if (config().logit_softcap > 0) {
    kernels().softcap(scratch_.logits, config().logit_softcap, n_logits);
  }
}

void Step::normalize(const float* x, const Norm& norm, size_t n_rows, size_t n_columns,
                     float* out) {
  if (norm.weight == nullptr) return;
  const bool is_rms = config().architecture->norms.kind == NormKind::rms;
  const float epsilon = config().norm_epsilon;
  for_each(n_rows, [&](size_t t) {
    for (size_t i = 0; i < n_columns; i += norm.width) {
      const float* weight = norm.weight + i % norm.n_weights;
      const size_t at = t * n_columns + i;
      if (is_rms) {
        kernels().rms_norm(x + at, weight, epsilon, norm.width, out + at);
      } else {
        kernels().layer_norm(x + at, weight, norm.bias, epsilon, norm.width, out + at);
      }
    }
  });
}

}  // namespace kinglet
