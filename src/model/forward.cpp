#include "model/forward.h"

#include "base/format.h"
#include "base/quoted.h"
#include "model/step.h"

namespace kinglet {
namespace {

Status check_purpose(const ModelConfig& config, Output output) {
  const bool is_encoder = config.architecture->is_encoder();
  return is_encoder || output == Output::logits ? check_makes_text(config) : Status();
}

Status check_tokens(const Model& model, const Scratch& scratch, const SequenceState& state,
                    std::span<const int32_t> tokens) {
  if (tokens.empty() || tokens.size() > scratch.n_batch) {
    return Error{ErrorCode::invalid_argument,
                 cat("a step of ", tokens.size(), " tokens, expected 1 to ", scratch.n_batch)};
  }
  KINGLET_TRY(check_vocabulary(model, tokens));
  const size_t n_learned = model.weights().position_embedding.n_rows;
  if (n_learned > 0 && tokens.size() > n_learned - state.size()) {
    return Error{ErrorCode::context_full,
                 cat("the context is full: it holds ", state.size(), " of ", n_learned,
                     " positions, ", tokens.size(), " more do not fit")};
  }
  return {};
}

Status run_layers(Step& step, std::span<const Layer> layers, const Cancellation& cancellation) {
  for (size_t i = 0; i < layers.size(); ++i) {
    KINGLET_TRY(check_cancelled(cancellation, i, layers.size()));
    KINGLET_TRY(run_layer(step, layers[i]));
  }
  return {};
}

}  // namespace

Status check_cancelled(const Cancellation& cancellation, size_t layer, size_t n_layers) {
  if (!cancellation.requested()) return {};
  return Error{ErrorCode::cancelled, cat("cancelled before layer ", layer, " of ", n_layers)};
}

Status check_vocabulary(const Model& model, std::span<const int32_t> tokens) {
  const uint32_t vocab_size = model.config().vocab_size;
  for (const int32_t token : tokens) {
    if (token < 0 || static_cast<uint32_t>(token) >= vocab_size) {
      return Error{ErrorCode::invalid_argument,
                   cat("token ", token, " is outside the vocabulary of ", vocab_size)};
    }
  }
  return {};
}

Status forward(const Model& model, ThreadPool& pool, Scratch& scratch, SequenceState& state,
               std::span<const int32_t> tokens, Output output, const Cancellation& cancellation,
               size_t n_guesses) {
  KINGLET_TRY(check_purpose(model.config(), output));
  KINGLET_TRY(check_tokens(model, scratch, state, tokens));
  KINGLET_TRY(state.reserve(static_cast<uint32_t>(tokens.size())));
  Step step(model, pool, scratch, state, tokens.size());
  Status status = step.embed(tokens);
  if (status.ok()) status = run_layers(step, model.weights().layers, cancellation);
  if (!status.ok()) {
    state.rollback();
    return status;
  }
  if (output == Output::logits) step.finish_logits(n_guesses + 1);
  if (output == Output::hidden) step.finish_hidden();
  return n_guesses > 0 ? Status() : state.commit();
}

}  // namespace kinglet
