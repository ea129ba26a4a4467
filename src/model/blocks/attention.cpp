#include "model/blocks/attention.h"

#include <algorithm>

#include "base/exponential.h"
#include "kernels/attention.h"
#include "model/step.h"

namespace kinglet {

Result<std::unique_ptr<Block>> Attention::load(LayerLoader& loader) {
  auto block = std::make_unique<Attention>();
  KINGLET_ASSIGN(block->inputs_, AttentionInputs::load(loader));
  KINGLET_ASSIGN(block->output_,
                 loader.linear("attn_output", loader.config().hidden_dim, block->q_dim()));
  const LayerConfig& layer = block->inputs_.layer;
  block->rows_ = block->inputs_.has_rows ? loader.keep_rows(layer.n_kv_heads, layer.head_dim)
                                         : loader.rows_of(layer.rows_layer);
  return std::unique_ptr<Block>(std::move(block));
}

Attention::Buffers Attention::lay_out(Arena& arena, const BatchShape& batch) const {
  return {
      .query = arena.take<float>(batch.n_tokens * q_dim()),
      .gated = arena.take<float>(inputs_.has_gate_in_queries() ? 2 * batch.n_tokens * q_dim() : 0),
      .gate = arena.take<float>(batch.n_tokens * gate_dim()),
      .key = arena.take<float>(inputs_.has_rows ? batch.n_tokens * kv_dim() : 0),
      .value = arena.take<float>(inputs_.has_rows ? batch.n_tokens * kv_dim() : 0),
      .output = arena.take<float>(batch.n_tokens * q_dim()),
      .per_thread = arena.take<std::byte>(batch.n_threads * attention_scratch_bytes(head_dim()))};
}

ScratchNeeds Attention::scratch_needs(const BatchShape& batch) const {
  Arena arena;
  lay_out(arena, batch);
  return {arena.n_bytes(), std::max(inputs_.query.matrix.n_columns, output_.matrix.n_columns)};
}

Status Attention::run(Step& step, Arena arena, const float* x, float* out) const {
  const Buffers buffers = lay_out(arena, step.shape());
  float* const query = inputs_.has_gate_in_queries() ? buffers.gated : buffers.query;
  step.project(x, step.n_tokens(),
               {{&inputs_.query, query},
                {&inputs_.key, buffers.key},
                {&inputs_.value, buffers.value},
                {&inputs_.gate, buffers.gate}});
  if (inputs_.has_gate_in_queries()) part_gates(step, buffers);
  inputs_.finish_queries(step, buffers.query);
  if (inputs_.has_rows) {
    inputs_.finish_values(step, buffers.key, buffers.value);
    inputs_.finish_keys(step, buffers.key);
    KINGLET_TRY(store(step, buffers));
  }
  attend(step, buffers);
  apply_gate(step, buffers);
  step.project(buffers.output, step.n_tokens(), {{&output_, out}});
  return {};
}

// Separates the queries from the gates: each head has its query first, then its gate.
void Attention::part_gates(Step& step, const Buffers& buffers) const {
  step.for_each(step.n_tokens() * inputs_.layer.n_heads, [&](size_t i) {
    const float* head = buffers.gated + 2 * i * head_dim();
    std::copy_n(head, head_dim(), buffers.query + i * head_dim());
    std::copy_n(head + head_dim(), head_dim(), buffers.gate + i * head_dim());
  });
}

// Multiplies the output of the heads by their gates.
void Attention::apply_gate(Step& step, const Buffers& buffers) const {
  const size_t n = step.n_tokens() * q_dim();
  float* const output = buffers.output;
  const float* const gate = buffers.gate;
  switch (inputs_.gate_kind) {
    case OutputGate::none:
      return;
    case OutputGate::in_queries:
      return step.for_each_part(n, [&](size_t begin, size_t end) {
        step.kernels().sigmoid_multiply(output + begin, gate + begin, end - begin);
      });
    case OutputGate::of_heads:
      return step.for_each(step.n_tokens() * inputs_.layer.n_heads, [&](size_t head) {
        const float share = exponential::sigmoid(gate[head]);
        for (size_t i = 0; i < head_dim(); ++i) output[head * head_dim() + i] *= share;
      });
    case OutputGate::softplus_or_none:
      return step.for_each_part(n, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) output[i] *= exponential::softplus2(gate[i]);
      });
  }
}

Status Attention::store(Step& step, const Buffers& buffers) const {
  const size_t width = kv_dim();
  for (size_t t = 0; t < step.n_tokens(); ++t) {
    KINGLET_TRY(step.state_of(t).write(rows_, step.index_of(t), {buffers.key + t * width, width},
                                       {buffers.value + t * width, width}));
  }
  return {};
}

// A token sees every position of its window up to its own; if the step is a picture whose rows see
// each other, up to the picture's end. One work item is the heads that share keys, times a few
// tokens of one sequence.
void Attention::attend(Step& step, const Buffers& buffers) const {
  const LayerConfig& layer = inputs_.layer;
  const size_t n_heads = layer.n_heads / layer.n_kv_heads;
  const size_t n_tokens = std::min(tile_tokens(n_heads), step.n_successive());
  const size_t n_tiles = (step.n_tokens() + n_tokens - 1) / n_tokens;
  const size_t n_seen = step.n_seen();
  step.pool().for_range(
      layer.n_kv_heads * n_tiles, 1, [&](size_t begin, size_t end, size_t thread) {
        for (size_t item = begin; item < end; ++item) {
          const auto kv_head = static_cast<uint32_t>(item / n_tiles);
          const size_t first = item % n_tiles * n_tokens;
          const size_t offset = first * q_dim() + kv_head * n_heads * head_dim();
          kinglet::attend(step.kernels(),
                          {.queries = buffers.query + offset,
                           .output = buffers.output + offset,
                           .token_stride = q_dim(),
                           .n_tokens = std::min(n_tokens, step.n_tokens() - first),
                           .n_heads = n_heads,
                           .head_dim = head_dim(),
                           .position = step.position_of(first),
                           .window = layer.window,
                           .scale = layer.attention_scale,
                           .softcap = step.config().attention_softcap,
                           .n_seen = n_seen},
                          step.state_of(first).view(rows_, kv_head),
                          buffers.per_thread + thread * attention_scratch_bytes(head_dim()));
        }
      });
}

}  // namespace kinglet
