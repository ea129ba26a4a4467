// What is to be computed of whole texts.
#pragma once

#include <cstdint>
#include <vector>

#include "model/pooling.h"
#include "text/vocabulary.h"

namespace kinglet {

// One row for each text: its vector, the vectors of its tokens one after the other with
// Pooling::none, or its scores with Pooling::rank.
// With labels: their probabilities.
using Rows = std::vector<std::vector<float>>;

// What is to be computed of texts.
struct Encoding {
  std::vector<std::vector<TokenId>> texts = {};
  Pooling pooling = Pooling::mean;
  uint32_t n_numbers = 0;  // keep this many first numbers of each vector; 0: all
  // Scale each vector to the length 1, or make probabilities of scores: numbers whose sum is 1.
  bool normalizes = false;
  // The tokens of each label, if the probabilities of labels after each text are to be computed.
  std::vector<std::vector<TokenId>> labels = {};
  bool per_token = false;  // a label's score is the mean of its log probabilities, not the sum
};

// Replaces scores by the softmax of them.
void make_probabilities(std::vector<float>& scores);

}  // namespace kinglet
