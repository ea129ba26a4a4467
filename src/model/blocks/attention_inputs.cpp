#include "model/blocks/attention_inputs.h"

#include <algorithm>
#include <cmath>

#include "model/step.h"

namespace kinglet {

Result<AttentionInputs> AttentionInputs::load(LayerLoader& loader) {
  AttentionInputs inputs;
  inputs.layer = loader.layer();
  inputs.has_rows = inputs.layer.rows_layer == loader.index();
  inputs.rotates_first = loader.traits().attention.rotates_first;
  KINGLET_TRY(inputs.load_gate(loader));
  const bool is_fused = !inputs.has_gate_in_queries() && loader.has("attn_qkv");
  KINGLET_TRY(is_fused ? inputs.load_fused(loader) : inputs.load_separate(loader));
  KINGLET_ASSIGN(inputs.query_norm, loader.head_norm("attn_q_norm", inputs.q_dim()));
  if (!inputs.has_rows) {
    for (const char* part : {"attn_k", "attn_v", "attn_k_norm"}) loader.skip(part);
    return inputs;
  }
  KINGLET_ASSIGN(inputs.key_norm, loader.head_norm("attn_k_norm", inputs.kv_dim()));
  if (loader.traits().attention.normalizes_values)
    inputs.value_norm.assign(inputs.layer.head_dim, 1.0f);
  return inputs;
}

Status AttentionInputs::load_gate(LayerLoader& loader) {
  gate_kind = loader.traits().attention.gate;
  if (gate_kind == OutputGate::none || has_gate_in_queries()) return {};
  if (gate_kind == OutputGate::softplus_or_none && !loader.has("attn_gate")) {
    gate_kind = OutputGate::none;
    return {};
  }
  const uint32_t n_rows = gate_kind == OutputGate::of_heads ? layer.n_heads : q_dim();
  KINGLET_ASSIGN(gate, loader.linear("attn_gate", n_rows, loader.config().hidden_dim));
  return {};
}

Status AttentionInputs::load_separate(LayerLoader& loader) {
  const uint32_t hidden_dim = loader.config().hidden_dim;
  const Presence biases = loader.traits().attention.biases;
  const uint32_t n_rows = has_gate_in_queries() ? 2 * q_dim() : q_dim();
  KINGLET_ASSIGN(query, loader.linear("attn_q", n_rows, hidden_dim, biases));
  if (!has_rows) return {};
  KINGLET_ASSIGN(key, loader.linear("attn_k", kv_dim(), hidden_dim, biases));
  if (loader.traits().attention.keys_may_be_values && !loader.has("attn_v")) return {};
  KINGLET_ASSIGN(value, loader.linear("attn_v", kv_dim(), hidden_dim, biases));
  return {};
}

Status AttentionInputs::load_fused(LayerLoader& loader) {
  KINGLET_ASSIGN(const auto parts, loader.fused("attn_qkv", {q_dim(), kv_dim(), kv_dim()},
                                                loader.traits().attention.biases));
  query = parts[0];
  if (!has_rows) return {};
  key = parts[1];
  value = parts[2];
  return {};
}

void AttentionInputs::finish_queries(Step& step, float* queries) const {
  finish(step, query_norm, queries, layer.n_heads);
  if (step.config().temperature_scale != 0) warm(step, queries);
}

void AttentionInputs::finish_keys(Step& step, float* keys) const {
  finish(step, key_norm, keys, layer.n_kv_heads);
}

void AttentionInputs::finish_values(Step& step, const float* keys, float* values) const {
  if (value.matrix.n_rows == 0) std::copy_n(keys, step.n_tokens() * kv_dim(), values);
  if (value_norm.empty()) return;
  const size_t width = value_norm.size();
  step.normalize(values, {.weight = value_norm.data(), .width = width, .n_weights = width},
                 step.n_tokens(), kv_dim(), values);
}

void AttentionInputs::finish(Step& step, const Norm& norm, float* rows, uint32_t n_heads) const {
  const size_t width = size_t{n_heads} * layer.head_dim;
  if (rotates_first) rotate(step, rows, n_heads);
  step.normalize(rows, norm, step.n_tokens(), width, rows);
  if (!rotates_first) rotate(step, rows, n_heads);
}

// Scales queries by their positions: see ModelConfig::temperature_scale.
void AttentionInputs::warm(Step& step, float* queries) const {
  const ModelConfig& config = step.config();
  for (size_t t = 0; t < step.n_tokens(); ++t) {
    const size_t n_contexts = step.position_of(t) / config.rope.original_context;
    if (n_contexts == 0) continue;
    const double grown = std::log(static_cast<double>(n_contexts + 1));
    const float scale = 1.0f + config.temperature_scale * static_cast<float>(grown);
    float* row = queries + t * q_dim();
    for (size_t i = 0; i < q_dim(); ++i) row[i] *= scale;
  }
}

// Rotates the heads of every token's row, n_heads * head_dim wide.
void AttentionInputs::rotate(const Step& step, float* rows, uint32_t n_heads) const {
  if (layer.rotation == Rotation::none) return;
  const Angles angles = step.angles(layer.rotation);
  const auto rope = step.config().rope_kind == RopeKind::interleaved
                        ? step.kernels().rope_interleaved
                        : step.kernels().rope_halves;
  const size_t n_parts = step.config().rope.n_parts;
  const size_t part_dim = layer.head_dim / n_parts;
  const size_t n_pairs = angles.n_pairs / n_parts;
  step.for_each(step.n_tokens(), [&](size_t t) {
    for (size_t i = 0; i < n_heads * n_parts; ++i) {
      const size_t first = t * angles.n_pairs + i % n_parts * n_pairs;
      rope(rows + (t * n_heads * n_parts + i) * part_dim, angles.cosines + first,
           angles.sines + first, n_pairs);
    }
  });
}

}  // namespace kinglet
