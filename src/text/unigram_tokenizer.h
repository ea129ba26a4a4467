// SentencePiece's unigram model (tokenizer.ggml.model = "t5"): T5, XLM-RoBERTa, BGE-M3,
// multilingual E5.
//
// Characters are replaced as the file says; of all ways to cut the text into tokens the one with
// the highest sum of scores counts. The file spells a space as U+2581. It is read with spaces in
// its place, and in a text the two are the same.
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
  // As Vocabulary::from_gguf and Charsmap::from_gguf; besides, tokenizer.ggml.scores is required.
  // Where the file is silent the ids of the end and of the unknown token are those of T5, 1 and 2,
  // and spaces stay as they are. missing_metadata where there is no unknown token.
  static Result<std::unique_ptr<Tokenizer>> from_gguf(const GgufHeader& header);

 private:
  // The best way to cut a text up to some place.
  struct Best {
    double score;
    uint32_t last_begin;  // of the last token of it
    TokenId last;
  };

  UnigramTokenizer(Vocabulary vocabulary, Charsmap charsmap, bool merges_spaces);

  void encode_plain(std::string_view text, std::vector<TokenId>& ids) const override;

  // The text with its characters replaced and spaces added or taken away.
  std::string normalize(std::string_view text) const;

  // Appends the ids of a part that no token reaches out of; unknown ones that follow one another,
  // from ids[first] on, are one. `bests` is for use inside.
  void append_best(std::string_view part, size_t first, std::vector<Best>& bests,
                   std::vector<TokenId>& ids) const;

  Charsmap charsmap_;
  bool merges_spaces_;
  TokenTrie trie_;
  BytePairs neighbours_;
  double unknown_score_;
};

}  // namespace kinglet
