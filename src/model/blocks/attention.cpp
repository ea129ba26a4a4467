#include "model/blocks/attention.h"

#include <algorithm>

#include "kernels/attention.h"
#include "model/step.h"

namespace kinglet {

Result<std::unique_ptr<Block>> Attention::load(LayerLoader& loader) {
  auto block = std::make_unique<Attention>();
  block->layer_ = loader.layer();
  block->n_heads_ = block->layer_.n_heads;
  block->n_kv_heads_ = block->layer_.n_kv_heads;
  block->head_dim_ = block->layer_.head_dim;
  block->is_gated_ = loader.traits().gated_attention;
  const bool is_fused = !block->is_gated_ && loader.has("attn_qkv");
  KINGLET_TRY(is_fused ? block->load_fused(loader) : block->load_separate(loader));
  KINGLET_ASSIGN(block->query_norm_, loader.head_norm("attn_q_norm", block->q_dim()));
  KINGLET_ASSIGN(block->key_norm_, loader.head_norm("attn_k_norm", block->kv_dim()));
  KINGLET_ASSIGN(block->output_,
                 loader.linear("attn_output", loader.config().hidden_dim, block->q_dim()));
  block->rows_ = loader.keep_rows(block->n_kv_heads_, block->head_dim_);
  return std::unique_ptr<Block>(std::move(block));
}

Status Attention::load_separate(LayerLoader& loader) {
  const uint32_t hidden_dim = loader.config().hidden_dim;
  const Presence biases = loader.traits().qkv_biases;
  const uint32_t n_rows = is_gated_ ? 2 * q_dim() : q_dim();
  KINGLET_ASSIGN(query_, loader.linear("attn_q", n_rows, hidden_dim, biases));
  KINGLET_ASSIGN(key_, loader.linear("attn_k", kv_dim(), hidden_dim, biases));
  KINGLET_ASSIGN(value_, loader.linear("attn_v", kv_dim(), hidden_dim, biases));
  return {};
}

Status Attention::load_fused(LayerLoader& loader) {
  KINGLET_ASSIGN(const auto parts, loader.fused("attn_qkv", {q_dim(), kv_dim(), kv_dim()},
                                                loader.traits().qkv_biases));
  query_ = parts[0];
  key_ = parts[1];
  value_ = parts[2];
  return {};
}

Attention::Buffers Attention::lay_out(Arena& arena, const BatchShape& batch) const {
  return {
      .query = arena.take<float>(batch.n_tokens * q_dim()),
      .gated = arena.take<float>(is_gated_ ? 2 * batch.n_tokens * q_dim() : 0),
      .gate = arena.take<float>(is_gated_ ? batch.n_tokens * q_dim() : 0),
      .key = arena.take<float>(batch.n_tokens * kv_dim()),
      .value = arena.take<float>(batch.n_tokens * kv_dim()),
      .output = arena.take<float>(batch.n_tokens * q_dim()),
      .per_thread = arena.take<std::byte>(batch.n_threads * attention_scratch_bytes(head_dim_))};
}

ScratchNeeds Attention::scratch_needs(const BatchShape& batch) const {
  Arena arena;
  lay_out(arena, batch);
  return {arena.n_bytes(), std::max(query_.matrix.n_columns, output_.matrix.n_columns)};
}

Status Attention::run(Step& step, Arena arena, const float* x, float* out) const {
  const Buffers buffers = lay_out(arena, step.shape());
  float* const query = is_gated_ ? buffers.gated : buffers.query;
  step.project(x, step.n_tokens(),
               {{&query_, query}, {&key_, buffers.key}, {&value_, buffers.value}});
  if (is_gated_) part_gates(step, buffers);
  step.normalize(buffers.query, query_norm_, step.n_tokens(), q_dim(), buffers.query);
  step.normalize(buffers.key, key_norm_, step.n_tokens(), kv_dim(), buffers.key);
  rotate(step, buffers.query, n_heads_);
  rotate(step, buffers.key, n_kv_heads_);
  KINGLET_TRY(store(step, buffers));
  attend(step, buffers);
  if (is_gated_) {
    step.for_each_part(step.n_tokens() * q_dim(), [&](size_t begin, size_t end) {
      step.kernels().sigmoid_multiply(buffers.output + begin, buffers.gate + begin, end - begin);
    });
  }
  step.project(buffers.output, step.n_tokens(), {{&output_, out}});
  return {};
}

// Parts the queries from the gates.
void Attention::part_gates(Step& step, const Buffers& buffers) const {
  step.for_each(step.n_tokens() * n_heads_, [&](size_t i) {
    const float* head = buffers.gated + 2 * i * head_dim_;
    std::copy_n(head, head_dim_, buffers.query + i * head_dim_);
    std::copy_n(head + head_dim_, head_dim_, buffers.gate + i * head_dim_);
  });
}

// Rotates the heads of every token's row, n_heads * head_dim wide.
void Attention::rotate(const Step& step, float* rows, uint32_t n_heads) const {
  if (layer_.rotation == Rotation::none) return;
  const Angles& angles = step.angles(layer_.rotation);
  const auto rope = step.config().architecture->rope == RopeKind::interleaved
                        ? step.kernels().rope_interleaved
                        : step.kernels().rope_halves;
  step.for_each(step.n_tokens(), [&](size_t t) {
    for (uint32_t head = 0; head < n_heads; ++head) {
      rope(rows + (t * n_heads + head) * head_dim_, angles.cosines + t * angles.n_pairs,
           angles.sines + t * angles.n_pairs, angles.n_pairs);
    }
  });
}

Status Attention::store(Step& step, const Buffers& buffers) const {
  const size_t width = kv_dim();
  for (size_t t = 0; t < step.n_tokens(); ++t) {
    KINGLET_TRY(step.state().push(rows_, {buffers.key + t * width, width},
                                  {buffers.value + t * width, width}));
  }
  return {};
}

// Causal: a token sees every position of its window up to its own. Work is cut into the heads that
// share keys, times a few tokens.
void Attention::attend(Step& step, const Buffers& buffers) const {
  const size_t n_heads = n_heads_ / n_kv_heads_;
  const size_t n_tokens = tile_tokens(n_heads);
  const size_t n_tiles = (step.n_tokens() + n_tokens - 1) / n_tokens;
  step.pool().for_range(n_kv_heads_ * n_tiles, 1, [&](size_t begin, size_t end, size_t thread) {
    for (size_t item = begin; item < end; ++item) {
      const auto kv_head = static_cast<uint32_t>(item / n_tiles);
      const size_t first = item % n_tiles * n_tokens;
      const size_t offset = first * q_dim() + kv_head * n_heads * head_dim_;
      kinglet::attend(step.kernels(),
                      {.queries = buffers.query + offset,
                       .output = buffers.output + offset,
                       .token_stride = q_dim(),
                       .n_tokens = std::min(n_tokens, step.n_tokens() - first),
                       .n_heads = n_heads,
                       .head_dim = head_dim_,
                       .position = step.position() + first,
                       .window = layer_.window,
                       .scale = layer_.attention_scale,
                       .softcap = step.config().attention_softcap},
                      step.state().view(rows_, kv_head),
                      buffers.per_thread + thread * attention_scratch_bytes(head_dim_));
    }
  });
}

}  // namespace kinglet
