// A trie of a vocabulary's tokens, one step per byte: finds the tokens that a text begins with.
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
  static constexpr Node kNone = 0;  // cannot be a child, because it is the root

  // Adds the normal, user-defined and unused tokens; of equal tokens, the last one counts. The
  // vocabulary holds user-defined and unused tokens as the file spells them, so they go through
  // `append_bytes` here (see VocabularyKind).
  TokenTrie(const Vocabulary& vocabulary,
            void (*append_bytes)(std::string_view spelled, std::string& bytes));

  // Returns the child of `node` for a further byte, or kNone.
  Node child(Node node, char byte) const {
    const uint32_t begin = first_children_[node];
    const uint32_t end = first_children_[node + size_t{1}];
    if (begin == end) return kNone;
    const uint8_t* labels = labels_.data();
    const void* found = std::memchr(labels + begin, static_cast<uint8_t>(byte), end - begin);
    if (found == nullptr) return kNone;
    return static_cast<Node>(static_cast<const uint8_t*>(found) - labels);
  }

  // Returns the token that ends at `node`, or kNoToken.
  TokenId token(Node node) const { return tokens_[node]; }

 private:
  // One element for each node. Nodes are in the order of their depth; the children of a node stand
  // one after another.
  std::vector<uint8_t> labels_;  // the byte that leads to the node
  std::vector<TokenId> tokens_;
  std::vector<uint32_t> first_children_;  // a node's children end where the next node's begin
};

}  // namespace kinglet
