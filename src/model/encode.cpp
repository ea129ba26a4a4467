#include "model/encode.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "model/forward.h"

namespace kinglet {
namespace {

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
                     ", expected at least 1 of each")};
  }
  KINGLET_ASSIGN(RowEncoder rows, RowEncoder::create(model, pool, n_tokens, n_batch));
  Encoder encoder(model, pool, std::move(rows));
  if (model.config().architecture->is_encoder()) return encoder;
  const uint32_t n_ctx = context_of(model, n_tokens);
  KINGLET_ASSIGN(encoder.sequence_,
                 SequenceState::create(sequence_plan(model, n_ctx, std::min(n_batch, n_tokens)),
                                       model.state_shape().n_recurrent, n_ctx));
  return encoder;
}

uint64_t Encoder::bytes_of(const Model& model, size_t n_threads, uint32_t n_tokens,
                           uint32_t n_batch) {
  const uint64_t bytes = RowEncoder::bytes_of(model, n_threads, n_tokens, n_batch);
  if (model.config().architecture->is_encoder()) return bytes;
  const uint32_t n_ctx = context_of(model, n_tokens);
  return bytes + sequence_plan(model, n_ctx, std::min(n_batch, n_tokens)).bytes() +
         recurrent_state_bytes(model.state_shape().n_recurrent);
}

uint64_t Encoder::bytes() const {
  const uint64_t of_sequence =
      sequence_ ? sequence_->kv_bytes() + sequence_->recurrent().bytes() : 0;
  return rows_.bytes() + of_sequence;
}

Status Encoder::check_texts(std::span<const std::span<const int32_t>> texts) const {
  if (texts.empty())
    return Error{ErrorCode::invalid_argument, "there are no texts, expected at least one"};
  const uint32_t context = model_->config().context_length;
  uint64_t n_tokens = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty()) {
      return Error{ErrorCode::invalid_argument, cat("text ", i, " has no tokens")};
    }
    if (texts[i].size() > context) {
      return Error{ErrorCode::context_full, cat("text ", i, " has ", texts[i].size(),
                                                " tokens, but the model's context is ", context)};
    }
    KINGLET_TRY(check_vocabulary(*model_, texts[i]));
    n_tokens += texts[i].size();
  }
  if (n_tokens <= rows_.capacity()) return {};
  return Error{ErrorCode::context_full, cat("the texts have ", n_tokens,
                                            " tokens, but there is room for ", rows_.capacity())};
}

Status Encoder::begin(std::span<const std::span<const int32_t>> texts,
                      const Cancellation& cancellation) {
  KINGLET_TRY(check_texts(texts));
  std::vector<size_t> lengths;
  tokens_.clear();
  for (const std::span<const int32_t> text : texts) {
    lengths.push_back(text.size());
    tokens_.insert(tokens_.end(), text.begin(), text.end());
  }
  rows_.divide(lengths);
  cancellation_ = cancellation;
  n_left_ = 0;
  if (sequence_) {
    for (const size_t n : lengths) n_left_ += (n - 1) / rows_.scratch().n_batch + 1;
    text_ = 0;
    n_done_ = 0;
    return {};
  }
  Status status = rows_.for_each_batch([&](Step& step) {
    return step.embed(std::span(tokens_).subspan(step.first_row(), step.n_tokens()));
  });
  if (status.ok()) {
    n_left_ = model_->weights().layers.size();
  } else {
    rows_.divide({});
  }
  return status;
}

Status Encoder::advance() {
  if (n_left_ == 0) return {};
  Status status = sequence_ ? run_next_batch() : run_next_layer();
  --n_left_;
  if (status.ok()) return {};
  n_left_ = 0;
  rows_.divide({});
  return status;
}

Status Encoder::run(std::span<const std::span<const int32_t>> texts,
                    const Cancellation& cancellation) {
  KINGLET_TRY(begin(texts, cancellation));
  while (n_left_ > 0) KINGLET_TRY(advance());
  return {};
}

Status Encoder::run_next_layer() {
  KINGLET_TRY(rows_.run_layer(model_->weights().layers.size() - n_left_, cancellation_));
  if (n_left_ == 1) rows_.finish();
  return {};
}

Status Encoder::run_next_batch() {
  const size_t width = model_->config().hidden_dim;
  const RowSpan& text = texts()[text_];
  Scratch& scratch = rows_.scratch();
  if (n_done_ == 0) KINGLET_TRY(sequence_->truncate(0));
  const size_t n = std::min<size_t>(scratch.n_batch, text.n_rows - n_done_);
  const size_t first = text.first + n_done_;
  KINGLET_TRY(forward(*model_, *pool_, scratch, *sequence_, std::span(tokens_).subspan(first, n),
                      Output::hidden, cancellation_));
  std::copy_n(scratch.normed, n * width, rows_.rows().stream + first * width);
  n_done_ += n;
  if (n_done_ < text.n_rows) return {};
  ++text_;
  n_done_ = 0;
  return {};
}

std::span<const float> Encoder::states(size_t text) const {
  const size_t width = model_->config().hidden_dim;
  const RowSpan& span = texts()[text];
  return {rows_.rows().stream + span.first * width, span.n_rows * width};
}

size_t Encoder::embedding_size(size_t text, Pooling pooling) const {
  const size_t n = pooling == Pooling::none ? texts()[text].n_rows : 1;
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

// Returns the one vector of a text's states, valid until the next call.
const float* Encoder::pool(size_t text, Pooling pooling) {
  const size_t width = model_->config().hidden_dim;
  pooled_.resize(width);
  pool_states(model_->kernels(), pooling, states(text).data(), texts()[text].n_rows, width,
              pooled_.data());
  return pooled_.data();
}

Status Encoder::embed(size_t text, Pooling pooling, std::span<float> embedding) {
  KINGLET_TRY(check_makes_vectors(pooling));
  KINGLET_TRY(check_text(text));
  KINGLET_TRY(check_output(text, embedding_size(text, pooling), embedding));
  const Head& head = model_->weights().head;
  const float* rows = states(text).data();
  size_t n_rows = texts()[text].n_rows;
  const size_t width = model_->config().hidden_dim;
  if (pooling != Pooling::none) {
    rows = pool(text, pooling);
    n_rows = 1;
  }
  for (size_t first = 0; first < n_rows; first += rows_.scratch().n_batch) {
    Step step = rows_.step(0, std::min<size_t>(rows_.scratch().n_batch, n_rows - first));
    head.embed(step, step.arena(), rows + first * width,
               embedding.data() + first * head.embedding_dim());
  }
  return check_finite(embedding);
}

Status Encoder::score(size_t text, std::span<float> scores) {
  const ModelConfig& config = model_->config();
  KINGLET_TRY(check_ranks(config));
  KINGLET_TRY(check_text(text));
  KINGLET_TRY(check_output(text, config.n_labels, scores));
  const float* pooled = pool(text, config.architecture->ranking.pooling);
  Step step = rows_.step(0, 1);
  model_->weights().head.score(step, step.arena(), pooled, scores.data());
  return check_finite(scores);
}

}  // namespace kinglet
