// Replaces characters before a text is cut into tokens. SentencePiece compiles the replacements
// into its files ("precompiled_charsmap"; mostly Unicode's NFKC).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/header.h"

namespace kinglet {

class Charsmap {
 public:
  // Reads tokenizer.ggml.precompiled_charsmap; the result is empty if the file has none.
  // Errors: wrong_type (not an array of bytes), corrupt (its parts do not fit into it, or a
  // replacement has no end or is longer than any that occurs).
  static Result<Charsmap> from_gguf(const GgufHeader& header);

  struct Match {
    size_t n_bytes;  // bytes to replace; 0 if nothing matches
    std::string_view replacement;
  };

  // Returns the longest entry that `text` begins with.
  Match find(std::string_view text) const;

 private:
  // A double-array trie (Darts-clone). The child of a node for byte c is the node at (the node's
  // offset) ^ c, if that node has the label c. For the packing see S. Kanda, "Space- and
  // Time-Efficient String Dictionaries" (2018).
  std::vector<uint32_t> nodes_;
  std::string replacements_;  // each ends with NUL
};

}  // namespace kinglet
