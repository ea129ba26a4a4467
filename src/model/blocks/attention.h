// Attention over the keys and values of a sequence (Vaswani et al., 2017), with heads that share
// keys (GQA, Ainslie et al., 2023).
#pragma once

#include <memory>

#include "model/blocks/attention_inputs.h"
#include "model/blocks/block.h"
#include "model/layer_loader.h"
#include "model/linear.h"

namespace kinglet {

// If the architecture has gates, they multiply the output of the heads (Qiu et al., 2025): see
// OutputGate.
//
// Tensors: "attn_output", and those of AttentionInputs.
class Attention : public Block {
 public:
  static Result<std::unique_ptr<Block>> load(LayerLoader& loader);

  ScratchNeeds scratch_needs(const BatchShape& batch) const override;
  Status run(Step& step, Arena arena, const float* x, float* out) const override;

 private:
  // The rows of n tokens.
  struct Buffers {
    float* query;   // [q_dim]
    float* gated;   // [2 q_dim]: query and gate of each head, if one matrix has both
    float* gate;    // [gate_dim]
    float* key;     // [kv_dim], if the layer has rows of its own
    float* value;   // [kv_dim], if the layer has rows of its own
    float* output;  // [q_dim]: of all heads
    std::byte* per_thread;
  };

  Buffers lay_out(Arena& arena, const BatchShape& batch) const;
  void part_gates(Step& step, const Buffers& buffers) const;
  Status store(Step& step, const Buffers& buffers) const;
  void attend(Step& step, const Buffers& buffers) const;
  void apply_gate(Step& step, const Buffers& buffers) const;

  size_t gate_dim() const {
    return inputs_.has_gate_in_queries() ? q_dim() : inputs_.gate.matrix.n_rows;
  }
  uint32_t q_dim() const { return inputs_.q_dim(); }
  uint32_t kv_dim() const { return inputs_.kv_dim(); }
  uint32_t head_dim() const { return inputs_.layer.head_dim; }

  AttentionInputs inputs_;
  uint32_t rows_ = 0;  // the index of the layer's keys and values in the sequence
  Linear output_;      // [hidden_dim][q_dim]
};

}  // namespace kinglet
