// Attention over the keys and values of a sequence (Vaswani et al., 2017), with heads that share
// keys (GQA, Ainslie et al., 2023).
#pragma once

#include <memory>

#include "model/blocks/attention_inputs.h"
#include "model/blocks/block.h"
#include "model/layer_loader.h"
#include "model/linear.h"

namespace kinglet {

// A gate, where there is one, multiplies what a head gives by its sigmoid (Qiu et al., 2025);
// "attn_q" then holds the query and the gate of one head after the other.
//
// "attn_output", and what makes its inputs.
class Attention : public Block {
 public:
  static Result<std::unique_ptr<Block>> load(LayerLoader& loader);

  ScratchNeeds scratch_needs(const BatchShape& batch) const override;
  Status run(Step& step, Arena arena, const float* x, float* out) const override;

 private:
  // Of n tokens.
  struct Buffers {
    float* query;   // [q_dim]
    float* gated;   // [2 q_dim]: query and gate of each head, where there is a gate
    float* gate;    // [q_dim]: the same
    float* key;     // [kv_dim], where the layer has rows of its own
    float* value;   // [kv_dim], likewise
    float* output;  // [q_dim]: of all heads
    std::byte* per_thread;
  };

  Buffers lay_out(Arena& arena, const BatchShape& batch) const;
  void part_gates(Step& step, const Buffers& buffers) const;
  Status store(Step& step, const Buffers& buffers) const;
  void attend(Step& step, const Buffers& buffers) const;

  uint32_t q_dim() const { return inputs_.q_dim(); }
  uint32_t kv_dim() const { return inputs_.kv_dim(); }
  uint32_t head_dim() const { return inputs_.layer.head_dim; }

  AttentionInputs inputs_;
  uint32_t rows_ = 0;  // which of the sequence's keys and values are this layer's
  Linear output_;      // [hidden_dim][q_dim]
};

}  // namespace kinglet
