// Tokens with their weights, and functions that find the best tokens of a vocabulary without
// sorting all of it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "text/vocabulary.h"

namespace kinglet {

// Limits changed logits, which a very small or very large penalty could make infinite.
constexpr float kLargestLogit = 1e30f;

struct Candidate {
  float weight;  // a logit, or a probability up to a common factor
  TokenId token;
};

// Larger weights come first. Of equal weights, the smaller id comes first, so the order is total.
constexpr auto kBetter = [](const Candidate& a, const Candidate& b) {
  return a.weight > b.weight || (a.weight == b.weight && a.token < b.token);
};

// Returns the token with the largest weight; of equal ones, the first. `weights` must be finite.
TokenId best_token(const KernelSet& kernels, std::span<const float> weights);

// out = the k > 0 best of `weights`, or all if there are fewer; best first. `weights` must be
// finite. Allocates only if `out` has no room for these.
void find_best(const KernelSet& kernels, std::span<const float> weights, size_t k,
               std::vector<Candidate>& out);

// Reduces `candidates`, which have weights in [0, 1] and any order, to the fewest whose sum of
// weights reaches `enough`, at least one. Of those that stay, the ones with the smallest weights
// are at the end, sorted best first.
void keep_fewest(double enough, std::vector<Candidate>& candidates);

}  // namespace kinglet
