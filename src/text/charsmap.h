// What characters become before a text is cut into tokens, as SentencePiece compiles it into its
// files ("precompiled_charsmap"; Unicode's NFKC, mostly).
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
  // Reads tokenizer.ggml.precompiled_charsmap; empty where the file has none.
  // ErrorCode::wrong_type where it is no array of bytes, corrupt where its parts do not fit into
  // it or a replacement is of no length that occurs.
  static Result<Charsmap> from_gguf(const GgufHeader& header);

  struct Match {
    size_t n_bytes;  // that are replaced; 0 where nothing is
    std::string_view replacement;
  };

  // The longest entry that `text` begins with.
  Match find(std::string_view text) const;

 private:
  // A double-array trie (Darts-clone): the child of a node for byte c is the one at the node's
  // offset ^ c, if it has c for a label. See S. Kanda, "Space- and Time-Efficient String
  // Dictionaries" (2018), for the way it is packed.
  std::vector<uint32_t> nodes_;
  std::string replacements_;  // each ended by NUL
};

}  // namespace kinglet
