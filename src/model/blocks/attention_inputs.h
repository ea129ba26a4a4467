// Makes queries, keys and values from a layer's input. All blocks with attention use it.
#pragma once

#include <vector>

#include "model/config.h"
#include "model/layer_loader.h"
#include "model/linear.h"

namespace kinglet {

class Step;

// Tensors: "attn_q", "attn_k", "attn_v", or "attn_qkv" with all three; norms of queries and keys;
// "attn_gate", if the architecture has such a gate: see OutputGate.
// If the layer reads the keys and values of another layer, only queries are made.
struct AttentionInputs {
  static Result<AttentionInputs> load(LayerLoader& loader);

  uint32_t q_dim() const { return layer.n_heads * layer.head_dim; }
  uint32_t kv_dim() const { return layer.n_kv_heads * layer.head_dim; }
  bool has_gate_in_queries() const { return gate_kind == OutputGate::in_queries; }

  // Normalizes and rotates the step's queries [n_tokens][q_dim], or keys [n_tokens][kv_dim], in the
  // architecture's order.
  void finish_queries(Step& step, float* queries) const;
  void finish_keys(Step& step, float* keys) const;

  // Normalizes the step's values [n_tokens][kv_dim], if the architecture does. If the values are
  // the keys before their norm, copies these first: so call it before finish_keys().
  void finish_values(Step& step, const float* keys, float* values) const;

  LayerConfig layer;
  bool has_rows = true;  // the layer has keys and values of its own
  OutputGate gate_kind = OutputGate::none;
  Linear query;     // [q_dim][hidden_dim], or [2 q_dim][hidden_dim] with gates
  Linear gate;      // [n_heads or q_dim][hidden_dim], if the gate has a matrix of its own
  Linear key;       // [kv_dim][hidden_dim]
  Linear value;     // [kv_dim][hidden_dim]; no rows: values are keys before their norm
  Norm query_norm;  // see HeadNorm
  Norm key_norm;
  std::vector<float> value_norm;  // weights of 1 [head_dim], if values are normalized
  bool rotates_first = false;

 private:
  Status load_gate(LayerLoader& loader);
  Status load_separate(LayerLoader& loader);
  Status load_fused(LayerLoader& loader);
  void finish(Step& step, const Norm& norm, float* rows, uint32_t n_heads) const;
  void rotate(const Step& step, float* rows, uint32_t n_heads) const;
  void warm(Step& step, float* queries) const;
};

}  // namespace kinglet
