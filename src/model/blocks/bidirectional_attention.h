// Attention over whole spans: rows see each other in both directions (BERT, Devlin et al., 2018).
#pragma once

#include <memory>
#include <vector>

#include "model/blocks/attention_inputs.h"
#include "model/blocks/block.h"
#include "model/encoder_rows.h"
#include "model/linear.h"

namespace kinglet {

// Tensors: "attn_output", and those of AttentionInputs. prepare() stores the keys and values of the
// step's rows with those of all other rows, as floats; run() reads those of whole spans.
class BidirectionalAttention : public Block {
 public:
  static Result<std::unique_ptr<Block>> load(LayerLoader& loader);

  ScratchNeeds scratch_needs(const BatchShape& batch) const override;
  void prepare(Step& step, Arena arena, const float* x) const override;
  Status run(Step& step, Arena arena, const float* x, float* out) const override;

 private:
  // The rows of n tokens.
  struct Buffers {
    float* query;     // [q_dim]
    float* output;    // [q_dim]: of all heads
    RowSpan* pieces;  // at most as many: see attend()
    std::byte* per_thread;
  };

  Buffers lay_out(Arena& arena, const BatchShape& batch) const;
  void attend(Step& step, const Buffers& buffers) const;
  void attend_rows(Step& step, const Buffers& buffers, size_t kv_head, const RowSpan& piece,
                   std::byte* scratch) const;

  AttentionInputs inputs_;
  std::vector<float> slopes_;  // [n_heads], or none: see AttentionTile
  Linear output_;              // [hidden_dim][q_dim]
};

}  // namespace kinglet
