// Encodes whole texts as vectors or scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "kv/sequence_state.h"
#include "model/model.h"
#include "model/row_encoder.h"

namespace kinglet {

// The default number of rows that are computed together.
constexpr uint32_t kEncoderBatch = 256;

// Turns texts into vectors or scores, with any model. Models with attention in both directions run
// layer by layer: see RowEncoder. A text's results do not depend, bit for bit, on other texts or on
// how rows are divided into batches.
//
// Causal models run text by text, as for generating.
//
// The model and the pool must outlive the encoder.
class Encoder {
 public:
  // n_tokens: the most tokens in all texts of one call; n_batch: rows that are computed together.
  // ErrorCode::missing_tensor (a model without weights), invalid_argument (a size of 0),
  // out_of_memory.
  static Result<Encoder> create(const Model& model, ThreadPool& pool, uint32_t n_tokens,
                                uint32_t n_batch = kEncoderBatch);

  // The bytes that create() would allocate, for a pool of n_threads.
  static uint64_t bytes_of(const Model& model, size_t n_threads, uint32_t n_tokens,
                           uint32_t n_batch = kEncoderBatch);

  uint64_t bytes() const;

  // Begins to compute the last hidden states of the texts' tokens. Earlier texts are dropped.
  // ErrorCode::invalid_argument (no texts, an empty one, a token outside the vocabulary);
  // context_full (a text longer than the model's context, or more than n_tokens in all); those of
  // EmbeddingTable::read(), after which there are no texts.
  Status begin(std::span<const std::span<const int32_t>> texts,
               const Cancellation& cancellation = {});

  // Computes the next step: a layer, or a batch of a text in a causal model. After an error there
  // are no texts. ErrorCode::cancelled, checked before each batch.
  Status advance();

  // Steps that are left.
  size_t n_left() const { return n_left_; }

  // Computes all steps at once. Errors: those of begin() and advance().
  Status run(std::span<const std::span<const int32_t>> texts,
             const Cancellation& cancellation = {});

  // --- After the last step

  size_t n_texts() const { return n_left_ == 0 ? rows_.rows().spans.size() : 0; }

  // The hidden states of text `text` < n_texts(): [tokens of the text][hidden_dim].
  std::span<const float> states(size_t text) const;

  // The width of one vector.
  size_t embedding_dim() const { return model_->weights().head.embedding_dim(); }

  // How many floats embed() writes.
  size_t embedding_size(size_t text, Pooling pooling) const;

  // The embedding of a text, not normalized: one vector, or one for each token with Pooling::none.
  // ErrorCode::invalid_argument (no such text, a wrong size); unsupported_feature (Pooling::rank);
  // not_finite.
  Status embed(size_t text, Pooling pooling, std::span<float> embedding);

  // The scores of a text, [n_labels]. ErrorCode::unsupported_feature (not a reranker),
  // invalid_argument, not_finite.
  Status score(size_t text, std::span<float> scores);

 private:
  Encoder(const Model& model, ThreadPool& pool, RowEncoder rows)
      : model_(&model), pool_(&pool), rows_(std::move(rows)) {}

  const std::vector<RowSpan>& texts() const { return rows_.rows().spans; }
  Status check_texts(std::span<const std::span<const int32_t>> texts) const;
  const float* pool(size_t text, Pooling pooling);
  Status run_next_layer();
  Status run_next_batch();
  Status check_text(size_t text) const;
  Status check_output(size_t text, size_t expected, std::span<const float> output) const;

  const Model* model_;
  ThreadPool* pool_;
  RowEncoder rows_;
  Cancellation cancellation_;
  size_t n_left_ = 0;
  size_t text_ = 0;                        // in a causal model: the text of the next batch
  size_t n_done_ = 0;                      // tokens of that text that are done
  std::vector<int32_t> tokens_;            // of all texts
  std::vector<float> pooled_;              // [hidden_dim]
  std::optional<SequenceState> sequence_;  // in a causal model
};

}  // namespace kinglet
