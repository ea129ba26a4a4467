// SentencePiece's unigram model (tokenizer.ggml.model = "t5"): T5, XLM-RoBERTa, BGE-M3,
// multilingual E5.
//
// Replaces characters as the file says. Then it chooses, of all ways to cut the text into tokens,
// the one with the highest sum of scores. The file spells a space as U+2581. Reading the file turns
// U+2581 back into spaces; in a text, U+2581 becomes a space, too.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/byte_pairs.h"
#include "text/charsmap.h"
#include "text/token_trie.h"
#include "text/tokenizer.h"

namespace kinglet {

class UnigramTokenizer final : public Tokenizer {
 public:
  // Errors: those of Vocabulary::from_gguf and Charsmap::from_gguf; missing_metadata (there is no
  // unknown token). Besides, tokenizer.ggml.scores is required. Defaults if the file does not say:
  // the ids of the end token and the unknown token are those of T5, 1 and 2, and spaces stay as
  // they are.
  static Result<std::unique_ptr<Tokenizer>> from_gguf(const GgufHeader& header);

 private:
  // The best way to cut a text up to some place.
  struct Best {
    double score;
    uint32_t last_begin;  // where its last token begins
    TokenId last;
  };

  UnigramTokenizer(Vocabulary vocabulary, Charsmap charsmap, bool merges_spaces);

  void encode_plain(std::string_view text, const Cancellation& cancellation,
                    std::vector<TokenId>& ids) const override;

  // Returns the text with characters replaced, and with spaces added or removed.
  std::string normalize(std::string_view text) const;

  // Appends the ids of a part of the text whose ends no token crosses. From ids[first] on,
  // consecutive unknown tokens become one. `bests` is scratch memory.
  void append_best(std::string_view part, size_t first, std::vector<Best>& bests,
                   std::vector<TokenId>& ids) const;

  Charsmap charsmap_;
  bool merges_spaces_;
  TokenTrie trie_;
  BytePairs neighbours_;
  double unknown_score_;
};

}  // namespace kinglet
