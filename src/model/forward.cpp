#include "model/forward.h"

#include "base/format.h"
#include "base/in_quotes.h"
#include "model/step.h"

namespace kinglet {
namespace {

Status check_purpose(const ModelConfig& config, Output output) {
  const bool is_encoder = config.architecture->is_encoder();
  return is_encoder || output == Output::logits ? check_makes_text(config) : Status();
}

Status check_tokens(const Model& model, const Scratch& scratch, const SequenceState& state,
                    std::span<const int32_t> tokens, PlacedImages images) {
  if (tokens.empty() || tokens.size() > scratch.n_batch) {
    return Error{ErrorCode::invalid_argument,
                 cat("a step has ", tokens.size(), " tokens, expected 1 to ", scratch.n_batch)};
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    const PlacedImage* placed = image_at(images, state.size() + i);
    if (placed == nullptr) {
      KINGLET_TRY(check_vocabulary(model, tokens[i]));
    } else if (!placed->has_rows()) {
      return Error{ErrorCode::invalid_argument,
                   cat("the rows of the picture at position ", placed->first, " were not given")};
    } else if (placed->image->sees_all &&
               (placed->first != state.size() || placed->n_rows != tokens.size())) {
      return Error{ErrorCode::invalid_argument,
                   cat("a step of ", tokens.size(), " tokens from position ", state.size(),
                       " on, expected the ", placed->n_rows, " rows from ", placed->first,
                       " on that see each other")};
    }
  }
  const size_t n_learned = model.weights().position_embedding.n_rows;
  if (n_learned > 0 && tokens.size() > n_learned - state.size()) {
    return Error{ErrorCode::context_full,
                 cat("the context is full: it holds ", state.size(), " of ", n_learned,
                     " positions, and ", tokens.size(), " more do not fit")};
  }
  return {};
}

Status check_together(const Model& model, const Scratch& scratch,
                      std::span<SequenceState* const> states, std::span<const int32_t> tokens) {
  if (!can_run_together(model)) {
    return Error{ErrorCode::unsupported_feature,
                 "sequences with recurrent states cannot be computed together"};
  }
  if (states.size() != tokens.size() || tokens.size() > scratch.n_logit_rows) {
    return Error{ErrorCode::invalid_argument,
                 cat(tokens.size(), " tokens for ", states.size(), " sequences, expected one for ",
                     "each of 1 to ", scratch.n_logit_rows)};
  }
  for (size_t i = 0; i < states.size(); ++i) {
    KINGLET_TRY(check_tokens(model, scratch, *states[i], tokens.subspan(i, 1), {}));
    if (states[i]->capacity() == states[0]->capacity()) continue;
    return Error{ErrorCode::invalid_argument,
                 cat("sequences of capacities ", states[0]->capacity(), " and ",
                     states[i]->capacity(), " cannot be computed together")};
  }
  return {};
}

Status run_layers(Step& step, std::span<const Layer> layers, const Cancellation& cancellation) {
  for (size_t i = 0; i < layers.size(); ++i) {
    KINGLET_TRY(check_cancelled(cancellation, i, layers.size()));
    KINGLET_TRY(run_layer(step, layers[i]));
    if (i < step.config().n_deepstack_layers) step.add_image_parts(static_cast<uint32_t>(i) + 1);
  }
  return {};
}

}  // namespace

Status check_cancelled(const Cancellation& cancellation, size_t layer, size_t n_layers) {
  if (!cancellation.requested()) return {};
  return Error{ErrorCode::cancelled, cat("cancelled before layer ", layer, " of ", n_layers)};
}

Status check_vocabulary(const Model& model, int32_t token) {
  const uint32_t vocab_size = model.config().vocab_size;
  if (token >= 0 && static_cast<uint32_t>(token) < vocab_size) return {};
  return Error{ErrorCode::invalid_argument,
               cat("token id ", token, " is out of range (vocabulary: ", vocab_size, ")")};
}

Status check_vocabulary(const Model& model, std::span<const int32_t> tokens) {
  for (const int32_t token : tokens) KINGLET_TRY(check_vocabulary(model, token));
  return {};
}

Status forward(const Model& model, ThreadPool& pool, Scratch& scratch, SequenceState& state,
               std::span<const int32_t> tokens, Output output, const Cancellation& cancellation,
               size_t n_guesses, PlacedImages images) {
  KINGLET_TRY(check_purpose(model.config(), output));
  KINGLET_TRY(check_tokens(model, scratch, state, tokens, images));
  KINGLET_TRY(state.reserve(static_cast<uint32_t>(tokens.size())));
  Step step(model, pool, scratch, state, tokens.size(), images);
  Status status = step.embed(tokens);
  if (status.ok()) status = run_layers(step, model.weights().layers, cancellation);
  if (!status.ok()) {
    state.rollback();
    return status;
  }
  if (output == Output::logits) step.finish_logits(n_guesses + 1);
  if (output == Output::hidden) step.finish_hidden();
  return n_guesses > 0 ? Status() : state.commit(static_cast<uint32_t>(tokens.size()));
}

bool can_run_together(const Model& model) { return model.state_shape().n_recurrent == 0; }

Status forward_together(const Model& model, ThreadPool& pool, Scratch& scratch,
                        std::span<SequenceState* const> states, std::span<const int32_t> tokens) {
  KINGLET_TRY(check_purpose(model.config(), Output::logits));
  KINGLET_TRY(check_together(model, scratch, states, tokens));
  Status status;
  for (size_t i = 0; i < states.size() && status.ok(); ++i) status = states[i]->reserve(1);
  if (status.ok()) {
    Step step(model, pool, scratch, states);
    status = step.embed(tokens);
    if (status.ok()) status = run_layers(step, model.weights().layers, {});
    if (status.ok()) step.finish_logits(states.size());
  }
  if (!status.ok()) {
    for (SequenceState* state : states) state->rollback();
  }
  return status;
}

}  // namespace kinglet
