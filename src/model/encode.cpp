#include "model/encode.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "model/forward.h"
#include "model/step.h"

namespace kinglet {
namespace {

uint64_t widest_keys(const ModelConfig& config) {
  uint64_t widest = 0;
  for (const LayerConfig& layer : config.layers) {
    widest = std::max(widest, uint64_t{layer.n_kv_heads} * layer.head_dim);
  }
  return widest;
}

// A causal model's context and its keys and values, when it encodes up to n_tokens.
uint32_t context_of(const Model& model, uint32_t n_tokens) {
  return std::min(n_tokens, model.config().context_length);
}
KvPlan sequence_plan(const Model& model, uint32_t n_ctx, uint32_t n_batch) {
  return plan_windows(model.state_shape().rows, KvKind::f32, KvKind::f32, n_ctx, n_batch);
}

Status check_finite(std::span<const float> numbers) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (!std::isfinite(numbers[i])) {
      return Error{
          ErrorCode::not_finite,
          cat("number ", i, " of ", numbers.size(),
              " of a text's embedding is NaN or infinity: the model's weights are damaged")};
    }
  }
  return {};
}

}  // namespace

Result<Encoder> Encoder::create(const Model& model, ThreadPool& pool, uint32_t n_tokens,
                                uint32_t n_batch) {
  KINGLET_TRY(check_has_weights(model));
  if (n_tokens == 0 || n_batch == 0) {
    return Error{ErrorCode::invalid_argument,
                 cat("an encoder of ", n_tokens, " tokens in batches of ", n_batch,
                     ", expected 1 or more of both")};
  }
  Encoder encoder(model, &pool, n_tokens);
  KINGLET_ASSIGN(encoder.scratch_,
                 Scratch::create(model, std::min(n_batch, n_tokens), pool.n_threads()));
  KINGLET_ASSIGN(encoder.memory_,
                 AlignedBuffer::allocate(encoder.lay_out(Arena()), "the encoder's memory"));
  encoder.lay_out(Arena(encoder.memory_.data()));
  if (model.config().architecture->is_encoder()) return encoder;
  const uint32_t n_ctx = context_of(model, n_tokens);
  KINGLET_ASSIGN(encoder.sequence_,
                 SequenceState::create(sequence_plan(model, n_ctx, encoder.scratch_.n_batch),
                                       model.state_shape().n_recurrent, n_ctx));
  return encoder;
}

uint64_t Encoder::bytes_of(const Model& model, size_t n_threads, uint32_t n_tokens,
                           uint32_t n_batch) {
  n_batch = std::min(n_batch, n_tokens);
  const uint64_t bytes = Encoder(model, nullptr, n_tokens).lay_out(Arena()) +
                         Scratch::bytes_of(model, n_batch, n_threads);
  if (model.config().architecture->is_encoder()) return bytes;
  return bytes + sequence_plan(model, context_of(model, n_tokens), n_batch).bytes() +
         recurrent_state_bytes(model.state_shape().n_recurrent);
}

uint64_t Encoder::bytes() const {
  const uint64_t of_sequence =
      sequence_ ? sequence_->kv_bytes() + sequence_->recurrent().bytes() : 0;
  return memory_.size() + scratch_.bytes() + of_sequence;
}

// Returns the bytes. No product here overflows: config's dimensions are at most 2^20, the rows
// 2^32.
uint64_t Encoder::lay_out(Arena arena) {
  const ModelConfig& config = model_->config();
  const uint64_t rows = n_tokens_;
  // Only encoders need these: a sequence and its steps have their own keys, values and angles.
  const bool is_encoder = config.architecture->is_encoder();
  const uint64_t kv_dim = is_encoder ? widest_keys(config) : 0;
  texts_.stream = arena.take<float>(rows * config.hidden_dim);
  texts_.keys = arena.take<float>(rows * kv_dim);
  texts_.values = arena.take<float>(rows * kv_dim);
  texts_.text_of = arena.take<uint32_t>(rows);
  tokens_ = arena.take<int32_t>(rows);
  pooled_ = arena.take<float>(config.hidden_dim);
  for (size_t i = 0; i < kRotationTables; ++i) {
    Angles& angles = texts_.angles[i];
    angles.n_pairs = is_encoder ? config.n_pairs(i) : 0;
    angles.cosines = arena.take<float>(rows * angles.n_pairs);
    angles.sines = arena.take<float>(rows * angles.n_pairs);
  }
  return arena.n_bytes();
}

Status Encoder::check_texts(std::span<const std::span<const int32_t>> texts) const {
  if (texts.empty()) return Error{ErrorCode::invalid_argument, "no texts, expected at least one"};
  const uint32_t context = model_->config().context_length;
  uint64_t n_tokens = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty()) {
      return Error{ErrorCode::invalid_argument, cat("text ", i, " has no tokens")};
    }
    if (texts[i].size() > context) {
      return Error{ErrorCode::context_full, cat("text ", i, " has ", texts[i].size(),
                                                " tokens, the model's context ", context)};
    }
    KINGLET_TRY(check_vocabulary(*model_, texts[i]));
    n_tokens += texts[i].size();
  }
  if (n_tokens <= n_tokens_) return {};
  return Error{ErrorCode::context_full,
               cat("the texts have ", n_tokens, " tokens, there is room for ", n_tokens_)};
}

void Encoder::lay_out_texts(std::span<const std::span<const int32_t>> texts) {
  texts_.spans.clear();
  size_t first = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const size_t n = texts[i].size();
    texts_.spans.push_back({first, n});
    std::copy_n(texts[i].data(), n, tokens_ + first);
    std::fill_n(texts_.text_of + first, n, static_cast<uint32_t>(i));
    first += n;
  }
}

// Calls f(step) for all rows, in batches.
template <class F>
void Encoder::for_each_batch(const F& f) {
  const size_t n_rows = texts_.n_tokens();
  for (size_t first = 0; first < n_rows; first += scratch_.n_batch) {
    const size_t n = std::min<size_t>(scratch_.n_batch, n_rows - first);
    Step step(*model_, *pool_, scratch_, texts_, first, n);
    f(step);
  }
}

Status Encoder::begin(std::span<const std::span<const int32_t>> texts,
                      const Cancellation& cancellation) {
  KINGLET_TRY(check_texts(texts));
  lay_out_texts(texts);
  cancellation_ = cancellation;
  if (sequence_) {
    n_left_ = 0;
    for (const TextSpan& text : texts_.spans) n_left_ += (text.n_tokens - 1) / scratch_.n_batch + 1;
    text_ = 0;
    n_done_ = 0;
    return {};
  }
  n_left_ = 0;
  Status status;
  for_each_batch([&](Step& step) {
    if (status.ok()) status = step.embed({tokens_ + step.first_row(), step.n_tokens()});
  });
  if (status.ok()) {
    n_left_ = model_->weights().layers.size();
  } else {
    texts_.spans.clear();
  }
  return status;
}

Status Encoder::advance() {
  if (n_left_ == 0) return {};
  Status status = sequence_ ? run_next_batch() : run_next_layer();
  --n_left_;
  if (status.ok()) return {};
  n_left_ = 0;
  texts_.spans.clear();
  return status;
}

Status Encoder::run(std::span<const std::span<const int32_t>> texts,
                    const Cancellation& cancellation) {
  KINGLET_TRY(begin(texts, cancellation));
  while (n_left_ > 0) KINGLET_TRY(advance());
  return {};
}

Status Encoder::run_next_layer() {
  const std::span<const Layer> layers = model_->weights().layers;
  const size_t i = layers.size() - n_left_;
  KINGLET_TRY(check_cancelled(cancellation_, i, layers.size()));
  for_each_batch([&](Step& step) { prepare_layer(step, layers[i]); });
  Status status;
  for_each_batch([&](Step& step) {
    if (status.ok()) status = run_layer(step, layers[i]);
  });
  if (i + 1 == layers.size()) {
    for_each_batch([&](Step& step) { step.replace_stream(model_->weights().output_norm); });
  }
  return status;
}

Status Encoder::run_next_batch() {
  const size_t width = model_->config().hidden_dim;
  const TextSpan& text = texts_.spans[text_];
  if (n_done_ == 0) KINGLET_TRY(sequence_->truncate(0));
  const size_t n = std::min<size_t>(scratch_.n_batch, text.n_tokens - n_done_);
  const size_t first = text.first + n_done_;
  KINGLET_TRY(forward(*model_, *pool_, scratch_, *sequence_, {tokens_ + first, n}, Output::hidden,
                      cancellation_));
  std::copy_n(scratch_.normed, n * width, texts_.stream + first * width);
  n_done_ += n;
  if (n_done_ < text.n_tokens) return {};
  ++text_;
  n_done_ = 0;
  return {};
}

std::span<const float> Encoder::states(size_t text) const {
  const size_t width = model_->config().hidden_dim;
  const TextSpan& span = texts_.spans[text];
  return {texts_.stream + span.first * width, span.n_tokens * width};
}

size_t Encoder::embedding_size(size_t text, Pooling pooling) const {
  const size_t n = pooling == Pooling::none ? texts_.spans[text].n_tokens : 1;
  return n * embedding_dim();
}

Status Encoder::check_text(size_t text) const {
  if (text < n_texts()) return {};
  return Error{ErrorCode::invalid_argument, cat("text ", text, " of ", n_texts())};
}

Status Encoder::check_output(size_t text, size_t expected, std::span<const float> output) const {
  if (output.size() == expected) return {};
  return Error{ErrorCode::invalid_argument,
               cat("room for ", output.size(), " numbers of text ", text, ", expected ", expected)};
}

Status Encoder::embed(size_t text, Pooling pooling, std::span<float> embedding) {
  if (pooling == Pooling::rank) {
    return Error{ErrorCode::unsupported_feature, "a reranker computes scores, not embeddings"};
  }
  KINGLET_TRY(check_text(text));
  KINGLET_TRY(check_output(text, embedding_size(text, pooling), embedding));
  const Head& head = model_->weights().head;
  const float* rows = states(text).data();
  size_t n_rows = texts_.spans[text].n_tokens;
  const size_t width = model_->config().hidden_dim;
  if (pooling != Pooling::none) {
    pool_states(model_->kernels(), pooling, rows, n_rows, width, pooled_);
    rows = pooled_;
    n_rows = 1;
  }
  for (size_t first = 0; first < n_rows; first += scratch_.n_batch) {
    const size_t n = std::min<size_t>(scratch_.n_batch, n_rows - first);
    Step step(*model_, *pool_, scratch_, texts_, 0, n);
    head.embed(step, Arena(scratch_.blocks), rows + first * width,
               embedding.data() + first * head.embedding_dim());
  }
  return check_finite(embedding);
}

Status Encoder::score(size_t text, std::span<float> scores) {
  const ModelConfig& config = model_->config();
  KINGLET_TRY(check_ranks(config));
  KINGLET_TRY(check_text(text));
  KINGLET_TRY(check_output(text, config.n_labels, scores));
  pool_states(model_->kernels(), config.architecture->ranking.pooling, states(text).data(),
              texts_.spans[text].n_tokens, config.hidden_dim, pooled_);
  Step step(*model_, *pool_, scratch_, texts_, 0, 1);
  model_->weights().head.score(step, Arena(scratch_.blocks), pooled_, scores.data());
  return check_finite(scores);
}

}  // namespace kinglet
