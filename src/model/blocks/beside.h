// Two mixers that read the same rows; their outputs are added (Falcon-H1, TII, 2025).
#pragma once

#include <memory>
#include <utility>

#include "model/blocks/block.h"

namespace kinglet {

class Beside : public Block {
 public:
  Beside(std::unique_ptr<Block> first, std::unique_ptr<Block> second, uint32_t hidden_dim)
      : first_(std::move(first)), second_(std::move(second)), hidden_dim_(hidden_dim) {}

  void derive() override {
    first_->derive();
    second_->derive();
  }
  ScratchNeeds scratch_needs(const BatchShape& batch) const override;
  Status run(Step& step, Arena arena, const float* x, float* out) const override;

 private:
  std::unique_ptr<Block> first_;
  std::unique_ptr<Block> second_;
  uint32_t hidden_dim_;
};

}  // namespace kinglet
