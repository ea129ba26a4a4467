// The tokens of a vocabulary by their bytes, one step a byte: which of them a text begins with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "text/vocabulary.h"

namespace kinglet {

class TokenTrie {
 public:
  using Node = uint32_t;
  static constexpr Node kRoot = 0;
  static constexpr Node kNone = 0;  // no node has the root below it

  // Takes the normal, user-defined and unused tokens, of equal ones the last. What the file spells
  // as it is, because it is no normal token, goes through `append_bytes` (see VocabularyKind).
  TokenTrie(const Vocabulary& vocabulary,
            void (*append_bytes)(std::string_view spelled, std::string& bytes));

  // The node below `node` for a further byte, or kNone.
  Node child(Node node, char byte) const {
    const uint32_t begin = first_children_[node];
    const uint32_t end = first_children_[node + size_t{1}];
    if (begin == end) return kNone;
    const uint8_t* labels = labels_.data();
    const void* found = std::memchr(labels + begin, static_cast<uint8_t>(byte), end - begin);
    if (found == nullptr) return kNone;
    return static_cast<Node>(static_cast<const uint8_t*>(found) - labels);
  }

  // The token that ends here, or kNoToken.
  TokenId token(Node node) const { return tokens_[node]; }

 private:
  // By node, in the order of their depth, those below one node one after another.
  std::vector<uint8_t> labels_;  // the byte that leads here
  std::vector<TokenId> tokens_;
  std::vector<uint32_t> first_children_;  // they end where the next node's begin
};

}  // namespace kinglet
