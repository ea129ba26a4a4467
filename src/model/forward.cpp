#include "model/forward.h"

#include <algorithm>
#include <initializer_list>

#include "base/checked.h"
#include "base/format.h"
#include "base/sin_cos.h"
#include "kernels/attention.h"
#include "kernels/packing.h"

namespace kinglet {
namespace {

// Rows that a thread takes at a time: a multiple of every kernel's interleave.
constexpr size_t kRowGrain = 16;

// y [n_tokens][n_rows] = x · matrix^T + bias.
struct Projection {
  const Linear* weights;
  float* y;

  size_t n_rows() const { return weights->matrix.n_rows; }
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
    const Weights& w = model_.weights();
    const size_t width = config_.hidden_dim;
    for (size_t t = 0; t < n_tokens_; ++t) {
      float* row = scratch_.hidden + t * width;
      dequantize_row(w.token_embedding, static_cast<size_t>(tokens[t]), row);
      for (size_t i = 0; i < width; ++i) row[i] *= config_.embedding_scale;
      if (w.position_embedding.n_rows > 0) {
        dequantize_row(w.position_embedding, cache_.size() + t, scratch_.normed);
        kernels_.add_scaled(row, scratch_.normed, 1.0f, width);
      }
    }
  }

  void compute_angles() {
    compute_angles(Rotation::scaled);
    if (config_.rope.has_local) compute_angles(Rotation::local);
  }

  Status layer(uint32_t index) {
    const LayerWeights& w = model_.weights().layers[index];
    const LayerConfig& config = config_.layers[index];

    const float* attention_input = normalize_stream(w.attention_norm);
    project(attention_input, config_.hidden_dim, n_tokens_,
            {{&w.query, scratch_.query}, {&w.key, scratch_.key}, {&w.value, scratch_.value}});
    normalize(scratch_.query, w.query_norm, n_tokens_, config_.q_dim(), scratch_.query);
    normalize(scratch_.key, w.key_norm, n_tokens_, config_.kv_dim(), scratch_.key);
    rotate(scratch_.query, config_.n_heads, config.rotation);
    rotate(scratch_.key, config_.n_kv_heads, config.rotation);
    KINGLET_TRY(store(index));
    attend(index);
    project(scratch_.attention, config_.q_dim(), n_tokens_,
            {{&w.attention_output, scratch_.projection}});
    add_to_stream(w.attention_post_norm);

    const float* ffn_input = w.parallel ? attention_input : normalize_stream(w.ffn_norm);
    if (w.experts.empty()) {
      feed_forward(w.ffn, ffn_input, n_tokens_, scratch_.projection);
    } else {
      mix_experts(w, ffn_input);
    }
    add_to_stream(w.ffn_post_norm);
    return {};
  }

  void normalize_hidden() {
    normalize(scratch_.hidden, model_.weights().output_norm, n_tokens_, config_.hidden_dim,
              scratch_.normed);
  }

  void compute_logits() {
    const Weights& w = model_.weights();
    const float* last = scratch_.hidden + (n_tokens_ - 1) * config_.hidden_dim;
    normalize(last, w.output_norm, 1, config_.hidden_dim, scratch_.normed);
    project(scratch_.normed, config_.hidden_dim, 1, {{&w.output, scratch_.logits}});
    if (config_.logit_scale != 1) {
      for (size_t i = 0; i < config_.vocab_size; ++i) scratch_.logits[i] *= config_.logit_scale;
    }
    if (config_.logit_softcap > 0) {
      kernels_.softcap(scratch_.logits, config_.logit_softcap, config_.vocab_size);
    }
  }

 private:
  void compute_angles(Rotation rotation) {
    const RopeTable& table = model_.rope_table(rotation, cache_.capacity());
    const Angles& angles = scratch_.angles[static_cast<size_t>(rotation)];
    const size_t n_pairs = table.frequencies.size();
    for (size_t t = 0; t < n_tokens_; ++t) {
      const auto position = static_cast<double>(cache_.size() + t);
      for (size_t i = 0; i < n_pairs; ++i) {
        const auto [sin, cos] = sin_cos(position * table.frequencies[i]);
        angles.cosines[t * n_pairs + i] = table.magnitude * static_cast<float>(cos);
        angles.sines[t * n_pairs + i] = table.magnitude * static_cast<float>(sin);
      }
    }
  }

  // The stream, normalized where there is such a norm.
  const float* normalize_stream(const Norm& norm) {
    if (norm.weight == nullptr) return scratch_.hidden;
    normalize(scratch_.hidden, norm, n_tokens_, config_.hidden_dim, scratch_.normed);
    return scratch_.normed;
  }

  // out = norm(x), in every token's row of n_columns as many times as the norm is wide. Nothing
  // happens without a norm. out may be x.
  void normalize(const float* x, const Norm& norm, size_t n_rows, size_t n_columns, float* out) {
    if (norm.weight == nullptr) return;
    for_each_token(n_rows, [&](size_t t) {
      for (size_t i = 0; i < n_columns; i += norm.width) {
        const float* weight = norm.weight + i % norm.n_weights;
        const size_t at = t * n_columns + i;
        if (config_.architecture->norm == NormKind::rms) {
          kernels_.rms_norm(x + at, weight, config_.norm_epsilon, norm.width, out + at);
        } else {
          kernels_.layer_norm(x + at, weight, norm.bias, config_.norm_epsilon, norm.width,
                              out + at);
        }
      }
    });
  }

  // Multiplies rows x [n_rows][n_columns] with every matrix, in one go for all threads.
  void project(const float* x, size_t n_columns, size_t n_rows,
               std::initializer_list<Projection> projections) {
    const Activations activations{
        x, n_columns, scratch_.codes, scratch_.scales, scratch_.sums, scratch_.half_sums};
    for (const Projection& projection : projections) {
      const DType type = projection.weights->matrix.type;
      if (matmul_kernel(kernels_, type).activations == ActivationFormat::int8) {
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
        const size_t width = projection.n_rows();
        const size_t from = std::clamp(begin, first, first + width) - first;
        const size_t to = std::clamp(end, first, first + width) - first;
        if (from < to) multiply(projection, activations, n_rows, from, to);
        first += padded_rows(projection);
      }
    });
  }

  // Rows [from, to) of a product, and their biases.
  void multiply(const Projection& projection, const Activations& x, size_t n_tokens, size_t from,
                size_t to) {
    const auto& [matrix, bias] = *projection.weights;
    multiply_rows(kernels_, matrix, x, n_tokens, projection.y, matrix.n_rows, from, to);
    if (bias == nullptr) return;
    for (size_t t = 0; t < n_tokens; ++t) {
      kernels_.add_scaled(projection.y + t * matrix.n_rows + from, bias + from, 1.0f, to - from);
    }
  }

  static size_t padded_rows(const Projection& projection) {
    return static_cast<size_t>(round_up(projection.n_rows(), kRowGrain));
  }

  // Rotates the heads of every token's row, n_heads * head_dim wide.
  void rotate(float* rows, uint32_t n_heads, Rotation rotation) {
    if (rotation == Rotation::none) return;
    const Angles& angles = scratch_.angles[static_cast<size_t>(rotation)];
    const size_t n_pairs = config_.rope.dim / 2;
    const auto rope = config_.architecture->rope == RopeKind::interleaved
                          ? kernels_.rope_interleaved
                          : kernels_.rope_halves;
    for_each_token(n_tokens_, [&](size_t t) {
      for (uint32_t head = 0; head < n_heads; ++head) {
        rope(rows + (t * n_heads + head) * config_.head_dim, angles.cosines + t * n_pairs,
             angles.sines + t * n_pairs, n_pairs);
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

  // Causal attention: a token sees every position of its window up to its own. Work is cut into
  // the heads that share keys, times a few tokens.
  void attend(uint32_t layer) {
    const size_t n_heads = config_.n_heads / config_.n_kv_heads;
    const size_t n_tokens = tile_tokens(n_heads);
    const size_t n_tiles = (n_tokens_ + n_tokens - 1) / n_tokens;
    pool_.for_range(config_.n_kv_heads * n_tiles, 1, [&](size_t begin, size_t end, size_t thread) {
      for (size_t item = begin; item < end; ++item) {
        const auto kv_head = static_cast<uint32_t>(item / n_tiles);
        const size_t first = item % n_tiles * n_tokens;
        const size_t offset = first * config_.q_dim() + kv_head * n_heads * config_.head_dim;
        kinglet::attend(kernels_,
                        {.queries = scratch_.query + offset,
                         .output = scratch_.attention + offset,
                         .token_stride = config_.q_dim(),
                         .n_tokens = std::min(n_tokens, n_tokens_ - first),
                         .n_heads = n_heads,
                         .head_dim = config_.head_dim,
                         .position = cache_.size() + first,
                         .window = config_.layers[layer].window,
                         .scale = config_.attention_scale,
                         .softcap = config_.attention_softcap},
                        cache_.view(layer, kv_head), scratch_.attention_of(thread));
      }
    });
  }

  // out [n_rows][hidden_dim] = the feed-forward network of rows x. Uses scratch's gate and up.
  void feed_forward(const FeedForward& w, const float* x, size_t n_rows, float* out) {
    if (w.gate.matrix.n_rows > 0) {
      project(x, config_.hidden_dim, n_rows, {{&w.gate, scratch_.gate}, {&w.up, scratch_.up}});
    } else {
      project(x, config_.hidden_dim, n_rows, {{&w.up, scratch_.gate}});
    }
    const bool gated = w.gate.matrix.n_rows > 0;
    const auto multiply_gate = config_.architecture->activation == Activation::silu
                                   ? kernels_.silu_multiply
                                   : kernels_.gelu_multiply;
    pool_.for_range(n_rows * config_.ffn_dim, kRowGrain, [&](size_t begin, size_t end, size_t) {
      if (gated) {
        multiply_gate(scratch_.gate + begin, scratch_.up + begin, end - begin);
      } else {
        kernels_.gelu(scratch_.gate + begin, end - begin);
      }
    });
    project(scratch_.gate, config_.ffn_dim, n_rows, {{&w.down, out}});
  }

  // projection = the sum of each token's experts. They run one after the other, each for all tokens
  // that chose it, so that its weights are read once.
  void mix_experts(const LayerWeights& w, const float* x) {
    const size_t width = config_.hidden_dim;
    choose(w.router, x);
    std::fill_n(scratch_.projection, n_tokens_ * width, 0.0f);
    for (uint32_t expert = 0; expert < config_.n_experts; ++expert) {
      const size_t n = gather(expert, x);
      if (n == 0) continue;
      feed_forward(w.experts[expert], scratch_.expert_input, n, scratch_.expert_output);
      for (size_t i = 0; i < n; ++i) {
        kernels_.add_scaled(scratch_.projection + scratch_.routed[i] * width,
                            scratch_.expert_output + i * width,
                            weight_of(scratch_.routed[i], expert), width);
      }
    }
  }

  // Every token's choice of experts.
  void choose(const Linear& router, const float* x) {
    project(x, config_.hidden_dim, n_tokens_, {{&router, scratch_.router}});
    for (size_t t = 0; t < n_tokens_; ++t) {
      choose_experts({scratch_.router + t * config_.n_experts, config_.n_experts},
                     config_.architecture->normalizes_experts, choices(t));
    }
  }

  // The number of tokens that chose the expert, their rows in expert_input.
  size_t gather(uint32_t expert, const float* x) {
    const size_t width = config_.hidden_dim;
    size_t n = 0;
    for (uint32_t t = 0; t < n_tokens_; ++t) {
      if (weight_of(t, expert) == 0) continue;
      std::copy_n(x + t * width, width, scratch_.expert_input + n * width);
      scratch_.routed[n++] = t;
    }
    return n;
  }

  std::span<ExpertChoice> choices(size_t token) {
    return {scratch_.choices + token * config_.n_experts_used, config_.n_experts_used};
  }

  // 0: the token did not choose the expert.
  float weight_of(size_t token, uint32_t expert) {
    for (const ExpertChoice& choice : choices(token)) {
      if (choice.expert == expert) return choice.weight;
    }
    return 0;
  }

  // Adds the projection, normalized where there is such a norm, to the stream.
  void add_to_stream(const Norm& norm) {
    const size_t width = config_.hidden_dim;
    normalize(scratch_.projection, norm, n_tokens_, width, scratch_.projection);
    for_each_token(n_tokens_, [&](size_t t) {
      kernels_.add_scaled(scratch_.hidden + t * width, scratch_.projection + t * width,
                          config_.residual_scale, width);
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
  const size_t n_learned = model.weights().position_embedding.n_rows;
  if (n_learned > 0 && tokens.size() > n_learned - cache.size()) {
    return Error{ErrorCode::context_full,
                 cat("the context is full: it holds ", cache.size(), " of ", n_learned,
                     " positions, ", tokens.size(), " more do not fit")};
  }
  return {};
}

Status run_layers(Step& step, uint32_t n_layers, const Cancellation& cancellation) {
  for (uint32_t layer = 0; layer < n_layers; ++layer) {
    if (cancellation.requested()) {
      return Error{ErrorCode::cancelled, cat("cancelled before layer ", layer, " of ", n_layers)};
    }
    KINGLET_TRY(step.layer(layer));
  }
  return {};
}

}  // namespace

Status forward(const Model& model, ThreadPool& pool, Scratch& scratch, KvCache& cache,
               std::span<const int32_t> tokens, Output output, const Cancellation& cancellation) {
  KINGLET_TRY(check_tokens(model, scratch, cache, tokens));
  KINGLET_TRY(cache.reserve(static_cast<uint32_t>(tokens.size())));
  Step step(model, pool, scratch, cache, tokens.size());
  step.embed(tokens);
  step.compute_angles();
  Status status = run_layers(step, model.config().n_layers, cancellation);
  if (!status.ok()) {
    cache.rollback();
    return status;
  }
  if (output == Output::logits) step.compute_logits();
  if (output == Output::hidden) step.normalize_hidden();
  return cache.commit();
}

}  // namespace kinglet
