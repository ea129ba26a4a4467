#include "model/experts.h"

#include "base/exponential.h"

namespace kinglet {
namespace {

// Sorts the first choices.size() of the largest logits into choices; of equal ones, the first.
void choose_largest(std::span<const float> logits, std::span<ExpertChoice> choices) {
  size_t n = 0;
  for (uint32_t expert = 0; expert < logits.size(); ++expert) {
    if (n == choices.size() && logits[expert] <= choices[n - 1].weight) continue;
    size_t place = n < choices.size() ? n++ : n - 1;
    for (; place > 0 && choices[place - 1].weight < logits[expert]; --place) {
      choices[place] = choices[place - 1];
    }
    choices[place] = {expert, logits[expert]};
  }
}

}  // namespace

void choose_experts(std::span<const float> logits, bool normalizes,
                    std::span<ExpertChoice> choices) {
  choose_largest(logits, choices);
  const float largest = choices[0].weight;
  float sum = 0;
  for (const float logit : logits) sum += exponential::exp(logit - largest);
  float chosen_sum = 0;
  for (ExpertChoice& choice : choices) {
    choice.weight = exponential::exp(choice.weight - largest);
    chosen_sum += choice.weight;
  }
  chosen_sum += 0.0f * sum;  // NaN where any logit is: its expert need not be among the chosen
  for (ExpertChoice& choice : choices) choice.weight /= normalizes ? chosen_sum : sum;
}

}  // namespace kinglet
