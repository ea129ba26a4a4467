// Whole texts in, vectors or scores out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/cancellation.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "kv/sequence_state.h"
#include "model/model.h"
#include "model/scratch.h"
#include "model/texts.h"

namespace kinglet {

// Rows that are computed together where nobody says how many.
constexpr uint32_t kEncoderBatch = 256;

// Makes vectors or scores of texts, by any model. Encoders are run layer by layer: attention needs
// the keys and values of all tokens of a text, so the stream of all tokens is kept, and what is
// done with rows is done in batches. A text may be longer than a batch, a batch may hold several
// texts, and nothing is padded. A text's results do not depend, bit for bit, on other texts or on
// how rows are cut into batches.
//
// Models whose tokens see those before them only are run text by text, as for generating.
//
// The model and the pool must outlive it.
class Encoder {
 public:
  // n_tokens: of all texts of a call, at most; n_batch: rows that are computed together.
  // ErrorCode::missing_tensor (a model without weights), invalid_argument (a size of 0),
  // out_of_memory.
  static Result<Encoder> create(const Model& model, ThreadPool& pool, uint32_t n_tokens,
                                uint32_t n_batch = kEncoderBatch);

  uint64_t bytes() const { return memory_.size() + scratch_.bytes(); }

  // Begins to compute the last states of the texts' tokens, in place of what was begun or computed
  // before. ErrorCode::invalid_argument (no texts, an empty one, a token outside the vocabulary);
  // context_full (a text longer than the model's context, or more tokens than there is room for);
  // those of EmbeddingTable::read(), with which there are no texts.
  Status begin(std::span<const std::span<const int32_t>> texts,
               const Cancellation& cancellation = {});

  // Computes the next step of it: a layer, or of a model that is no encoder a batch of a text. An
  // error ends it, and there are no texts then. ErrorCode::cancelled, heard of before each layer.
  Status advance();

  // Steps that are left.
  size_t n_left() const { return n_left_; }

  // All steps at once. Errors: those of begin() and advance().
  Status run(std::span<const std::span<const int32_t>> texts,
             const Cancellation& cancellation = {});

  // --- Of texts whose last step is done

  size_t n_texts() const { return n_left_ == 0 ? texts_.spans.size() : 0; }

  // [tokens of the text][hidden_dim]; of one of n_texts(), as in embedding_size().
  std::span<const float> states(size_t text) const;

  // Numbers of a vector.
  size_t embedding_dim() const { return model_->weights().head.embedding_dim(); }

  // Numbers of what embed() gives.
  size_t embedding_size(size_t text, Pooling pooling) const;

  // The embedding of a text, not normalized: one vector, or one for each token with Pooling::none.
  // ErrorCode::invalid_argument (no such text, a wrong size); unsupported_feature (Pooling::rank);
  // not_finite.
  Status embed(size_t text, Pooling pooling, std::span<float> embedding);

  // The scores of a text, [n_labels]. ErrorCode::unsupported_feature (no reranker),
  // invalid_argument, not_finite.
  Status score(size_t text, std::span<float> scores);

 private:
  Encoder(const Model& model, ThreadPool& pool) : model_(&model), pool_(&pool) {}

  Status allocate();
  Status check_texts(std::span<const std::span<const int32_t>> texts) const;
  void lay_out_texts(std::span<const std::span<const int32_t>> texts);
  Status run_next_layer();
  Status run_next_batch();
  Status check_text(size_t text) const;
  Status check_output(size_t text, size_t expected, std::span<const float> output) const;
  template <class F>
  void for_each_batch(const F& f);

  const Model* model_;
  ThreadPool* pool_;
  uint32_t n_tokens_ = 0;
  Texts texts_;
  Cancellation cancellation_;
  size_t n_left_ = 0;
  size_t text_ = 0;            // that the next batch belongs to, of a model that is no encoder
  size_t n_done_ = 0;          // tokens of that text
  int32_t* tokens_ = nullptr;  // [n_tokens]: of all texts
  float* pooled_ = nullptr;    // [hidden_dim]
  std::optional<SequenceState> sequence_;  // of a model that is no encoder
  Scratch scratch_;
  AlignedBuffer memory_;
};

}  // namespace kinglet
