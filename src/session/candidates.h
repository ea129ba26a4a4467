// Tokens and their weights, and how the best of a vocabulary are found without sorting it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "text/vocabulary.h"

namespace kinglet {

struct Candidate {
  float weight;  // a logit, or a probability up to a common factor
  TokenId token;
};

// Larger weights first; of equals the smaller id, so that the order is total.
constexpr auto kBetter = [](const Candidate& a, const Candidate& b) {
  return a.weight > b.weight || (a.weight == b.weight && a.token < b.token);
};

// The token of the largest of finite `weights`, the first of equals.
TokenId best_token(const KernelSet& kernels, std::span<const float> weights);

// out = the k > 0 best of finite `weights`, or all where there are fewer; best first. Allocates
// only where `out` has no room for them.
void find_best(const KernelSet& kernels, std::span<const float> weights, size_t k,
               std::vector<Candidate>& out);

// Reduces `candidates` with weights in [0, 1], in any order, to the fewest whose weights reach
// `enough`, at least one; the worst of those that stay come last, best first.
void keep_fewest(double enough, std::vector<Candidate>& candidates);

}  // namespace kinglet
