// Mixture of experts (Shazeer et al., 2017): each token goes through a few of the experts.
#pragma once

#include <cstdint>
#include <span>

namespace kinglet {

struct ExpertChoice {
  uint32_t expert;
  float weight;  // of its output
};

// The choices.size() experts of the largest logits, largest first, weighed by their share of all
// experts' softmax or, with `normalizes`, of the chosen ones' alone.
void choose_experts(std::span<const float> logits, bool normalizes,
                    std::span<ExpertChoice> choices);

}  // namespace kinglet
