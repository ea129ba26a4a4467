// The gated delta net (Yang, Kautz and Hatamizadeh, 2024): linear attention. For each key, its
// state is corrected by the error of its answer.
#pragma once

#include <memory>
#include <vector>

#include "model/blocks/block.h"
#include "model/blocks/causal_convolution.h"
#include "model/layer_loader.h"
#include "model/linear.h"

namespace kinglet {

// With heads of S elements, n_key_heads of queries and keys, n_value_heads of values:
//   (q, k, v) = silu(convolution(W_qkv x));  q and k of each head to length 1, q over sqrt(S)
//   strength = σ(W_beta x);  decay = e^(A softplus(W_alpha x + dt_bias)), for each value head
//   o = the delta rule (see DeltaRule);  out = W_out (norm(o) ⊙ silu(W_gate x))
// Value head h reads key head h mod n_key_heads.
// Tensors: "attn_qkv", "attn_gate", "ssm_conv1d", "ssm_beta", "ssm_alpha", "ssm_dt.bias", "ssm_a"
// (A < 0), "ssm_norm", "ssm_out".
class DeltaNet : public Block {
 public:
  static Result<std::unique_ptr<Block>> load(LayerLoader& loader);

  void derive() override { convolution_.derive(); }
  ScratchNeeds scratch_needs(const BatchShape& batch) const override;
  Status run(Step& step, Arena arena, const float* x, float* out) const override;

 private:
  // The rows of n tokens.
  struct Buffers {
    float* qkv;    // [2 key_dim + value_dim]: the convolution's input,
    float* mixed;  // and its output
    float* gate;   // [value_dim]
    float* beta;   // [n_value_heads]
    float* alpha;  // [n_value_heads]
    float* y;      // [value_dim]
  };

  Status load_sizes(LayerLoader& loader);
  Status load_tensors(LayerLoader& loader);
  Buffers lay_out(Arena& arena, const BatchShape& batch) const;
  void normalize_keys(Step& step, const Buffers& buffers) const;
  void apply_rule(Step& step, const Buffers& buffers) const;
  void gate(Step& step, const Buffers& buffers) const;

  uint32_t key_dim() const { return n_key_heads_ * head_dim_; }
  uint32_t value_dim() const { return n_value_heads_ * head_dim_; }
  uint32_t n_channels() const { return 2 * key_dim() + value_dim(); }

  uint32_t n_key_heads_ = 0;
  uint32_t n_value_heads_ = 0;
  uint32_t head_dim_ = 0;
  Linear qkv_;    // [n_channels][hidden_dim]
  Linear gate_;   // [value_dim][hidden_dim]
  Linear beta_;   // [n_value_heads][hidden_dim]
  Linear alpha_;  // [n_value_heads][hidden_dim]
  CausalConvolution convolution_;
  const float* dt_bias_ = nullptr;   // [n_value_heads]
  const float* a_ = nullptr;         // [n_value_heads]
  std::vector<float> query_weight_;  // [head_dim]: with it, an RMS norm gives length 1 / sqrt(S)
  std::vector<float> key_weight_;    // [head_dim]: with it, an RMS norm gives length 1
  Norm norm_;
  Linear output_;       // [hidden_dim][value_dim]
  uint64_t state_ = 0;  // offset of the states [n_value_heads][head_dim][head_dim]
};

}  // namespace kinglet
