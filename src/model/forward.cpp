#include "model/forward.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/checked.h"
#include "base/format.h"
#include "kernels/packing.h"

namespace kinglet {
namespace {

// Rows that a thread takes at a time: a multiple of every kernel's interleave.
constexpr size_t kRowGrain = 16;

// y [n_tokens][weights->n_rows] = x · weights^T.
struct Projection {
  const PackedMatrix* weights;
  float* y;
};

// One batch of tokens on its way through the model.
class Step {
 public:
  Step(const Model& model, ThreadPool& pool, Scratch& scratch, KvCache& cache, size_t n_tokens)
      : model_(model),
        config_(model.config()),
        kernels_(model.kernels()),
        pool_(pool),
        scratch_(scratch),
        cache_(cache),
        n_tokens_(n_tokens) {}

  void embed(std::span<const int32_t> tokens) {
    for (size_t t = 0; t < n_tokens_; ++t) {
      dequantize_row(model_.weights().token_embedding, static_cast<size_t>(tokens[t]),
                     scratch_.hidden + t * config_.hidden_dim);
    }
  }

  void compute_rotations() {
    const auto& frequencies = model_.rope_frequencies();
    for (size_t t = 0; t < n_tokens_; ++t) {
      const auto position = static_cast<double>(cache_.size() + t);
      for (size_t i = 0; i < frequencies.size(); ++i) {
        const double angle = position * frequencies[i];
        scratch_.cosines[t * frequencies.size() + i] = static_cast<float>(std::cos(angle));
        scratch_.sines[t * frequencies.size() + i] = static_cast<float>(std::sin(angle));
      }
    }
  }

  Status layer(uint32_t index) {
    const LayerWeights& w = model_.weights().layers[index];

    normalize(scratch_.hidden, w.attention_norm, n_tokens_);
    project(scratch_.normed, config_.hidden_dim, n_tokens_,
            {{&w.query, scratch_.query}, {&w.key, scratch_.key}, {&w.value, scratch_.value}});
    rotate(scratch_.query, config_.n_heads);
    rotate(scratch_.key, config_.n_kv_heads);
    KINGLET_TRY(store(index));
    attend(index);
    project(scratch_.attention, config_.q_dim(), n_tokens_,
            {{&w.attention_output, scratch_.projection}});
    add_projection();

    normalize(scratch_.hidden, w.ffn_norm, n_tokens_);
    project(scratch_.normed, config_.hidden_dim, n_tokens_,
            {{&w.gate, scratch_.gate}, {&w.up, scratch_.up}});
    pool_.for_range(n_tokens_ * config_.ffn_dim, kRowGrain, [&](size_t begin, size_t end, size_t) {
      kernels_.silu_multiply(scratch_.gate + begin, scratch_.up + begin, end - begin);
    });
    project(scratch_.gate, config_.ffn_dim, n_tokens_, {{&w.down, scratch_.projection}});
    add_projection();
    return {};
  }

  void compute_logits() {
    const float* last = scratch_.hidden + (n_tokens_ - 1) * config_.hidden_dim;
    normalize(last, model_.weights().output_norm, 1);
    project(scratch_.normed, config_.hidden_dim, 1, {{&model_.weights().output, scratch_.logits}});
  }

 private:
  // normed = rms_norm(x), rows of hidden_dim.
  void normalize(const float* x, const float* weight, size_t n_rows) {
    const size_t width = config_.hidden_dim;
    for_each_token(n_rows, [&](size_t t) {
      kernels_.rms_norm(x + t * width, weight, config_.norm_epsilon, width,
                        scratch_.normed + t * width);
    });
  }

  // Multiplies rows x [n_rows][n_columns] with every matrix, in one go for all threads.
  void project(const float* x, size_t n_columns, size_t n_rows,
               std::initializer_list<Projection> projections) {
    const Activations activations{
        x, n_columns, scratch_.codes, scratch_.scales, scratch_.sums, scratch_.half_sums};
    for (const Projection& projection : projections) {
      if (matmul_kernel(kernels_, projection.weights->type).activations == ActivationFormat::int8) {
        for_each_token(n_rows, [&](size_t t) { kernels_.quantize(activations, t); });
        break;
      }
    }
    // The rows of all matrices, one matrix behind the other, each rounded up to whole grains.
    size_t n_padded = 0;
    for (const Projection& projection : projections) n_padded += padded_rows(projection);
    pool_.for_range(n_padded, kRowGrain, [&](size_t begin, size_t end, size_t) {
      size_t first = 0;
      for (const Projection& projection : projections) {
        const auto& [weights, y] = projection;
        const size_t from = std::clamp(begin, first, first + weights->n_rows) - first;
        const size_t to = std::clamp(end, first, first + weights->n_rows) - first;
        if (from < to) {
          multiply_rows(kernels_, *weights, activations, n_rows, y, weights->n_rows, from, to);
        }
        first += padded_rows(projection);
      }
    });
  }

  static size_t padded_rows(const Projection& projection) {
    return static_cast<size_t>(round_up(projection.weights->n_rows, kRowGrain));
  }

  // Rotates the heads of every token's row, n_heads * head_dim wide.
  void rotate(float* rows, uint32_t n_heads) {
    const size_t n_pairs = config_.rope_dim / 2;
    for_each_token(n_tokens_, [&](size_t t) {
      for (uint32_t head = 0; head < n_heads; ++head) {
        kernels_.rope_interleaved(rows + (t * n_heads + head) * config_.head_dim,
                                  scratch_.cosines + t * n_pairs, scratch_.sines + t * n_pairs,
                                  n_pairs);
      }
    });
  }

  Status store(uint32_t layer) {
    const size_t width = config_.kv_dim();
    for (size_t t = 0; t < n_tokens_; ++t) {
      KINGLET_TRY(cache_.push(layer, {scratch_.key + t * width, width},
                              {scratch_.value + t * width, width}));
    }
    return {};
  }

  // Causal attention: a token sees every position up to its own. Heads that share keys stand side
  // by side, so that their rows stay in the thread's cache.
  void attend(uint32_t layer) {
    const uint32_t heads_per_kv_head = config_.n_heads / config_.n_kv_heads;
    const float scale = 1.0f / std::sqrt(static_cast<float>(config_.head_dim));
    const size_t n_items = config_.n_heads * n_tokens_;
    pool_.for_range(n_items, 1, [&](size_t begin, size_t end, size_t thread) {
      for (size_t item = begin; item < end; ++item) {
        const auto head = static_cast<uint32_t>(item / n_tokens_);
        const size_t t = item % n_tokens_;
        const size_t offset = t * config_.q_dim() + head * config_.head_dim;
        kernels_.attend_f32({.query = scratch_.query + offset,
                             .keys = cache_.keys(layer, head / heads_per_kv_head),
                             .values = cache_.values(layer, head / heads_per_kv_head),
                             .first_position = 0,
                             .n_positions = cache_.size() + t + 1,
                             .head_dim = config_.head_dim,
                             .scale = scale,
                             .softcap = 0.0f,
                             .scores = scratch_.thread_scores(thread),
                             .output = scratch_.attention + offset});
      }
    });
  }

  void add_projection() {
    const size_t width = config_.hidden_dim;
    for_each_token(n_tokens_, [&](size_t t) {
      kernels_.add_scaled(scratch_.hidden + t * width, scratch_.projection + t * width, 1.0f,
                          width);
    });
  }

  // A single row is not worth waking other threads for.
  template <class F>
  void for_each_token(size_t n, const F& f) {
    if (n == 1) return f(size_t{0});
    pool_.for_range(n, 1, [&](size_t begin, size_t end, size_t) {
      for (size_t t = begin; t < end; ++t) f(t);
    });
  }

  const Model& model_;
  const ModelConfig& config_;
  const KernelSet& kernels_;
  ThreadPool& pool_;
  Scratch& scratch_;
  KvCache& cache_;
  size_t n_tokens_;
};

Status check_tokens(const Model& model, const Scratch& scratch, const KvCache& cache,
                    std::span<const int32_t> tokens) {
  if (tokens.empty() || tokens.size() > scratch.n_batch) {
    return Error{ErrorCode::invalid_argument,
                 cat("a step of ", tokens.size(), " tokens, expected 1 to ", scratch.n_batch)};
  }
  const uint32_t vocab_size = model.config().vocab_size;
  for (const int32_t token : tokens) {
    if (token < 0 || static_cast<uint32_t>(token) >= vocab_size) {
      return Error{ErrorCode::invalid_argument,
                   cat("token ", token, " is outside the vocabulary of ", vocab_size)};
    }
  }
  const uint32_t capacity = cache.config().capacity;
  if (tokens.size() > capacity - cache.size()) {
    return Error{ErrorCode::context_full,
                 cat("the context is full: it holds ", cache.size(), " of ", capacity,
                     " positions, ", tokens.size(), " more do not fit")};
  }
  return {};
}

Status run_layers(Step& step, uint32_t n_layers) {
  for (uint32_t layer = 0; layer < n_layers; ++layer) KINGLET_TRY(step.layer(layer));
  return {};
}

}  // namespace

Status forward(const Model& model, ThreadPool& pool, Scratch& scratch, KvCache& cache,
               std::span<const int32_t> tokens, bool want_logits) {
  KINGLET_TRY(check_tokens(model, scratch, cache, tokens));
  Step step(model, pool, scratch, cache, tokens.size());
  step.embed(tokens);
  step.compute_rotations();
  if (Status status = run_layers(step, model.config().n_layers); !status.ok()) {
    cache.rollback();
    return status;
  }
  if (want_logits) step.compute_logits();
  return cache.commit();
}

}  // namespace kinglet
