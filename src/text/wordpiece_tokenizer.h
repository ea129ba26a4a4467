// WordPiece (tokenizer.ggml.model = "bert"): BERT, MiniLM, BGE, E5, GTE, Nomic Embed.
//
// Words are cut into the longest pieces of the vocabulary, from the left; one that cannot be cut is
// unknown as a whole. The file spells the first piece of a word with U+2581 in front (and leaves
// out the "##" that BERT's own vocabularies have in front of all others). It is read with a space
// in its place, and a U+2581 that a text itself contains is a character as any other.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/token_trie.h"
#include "text/tokenizer.h"

namespace kinglet {

class WordPieceTokenizer final : public Tokenizer {
 public:
  // As Vocabulary::from_gguf. Where the file is silent texts are put in small letters
  // (tokenizer.ggml.normalizer.lowercase), lose their accents if they are
  // (tokenizer.ggml.normalizer.strip_accents), and the ids of [CLS], [SEP] and [UNK] are those of
  // the first BERT: 101, 102, 100. missing_metadata where there is no [UNK].
  static Result<std::unique_ptr<Tokenizer>> from_gguf(const GgufHeader& header);

 private:
  struct Normalizer {
    bool lowercase;
    bool strip_accents;
  };

  struct Piece {
    TokenId id;
    size_t n_bytes;
  };

  WordPieceTokenizer(Vocabulary vocabulary, Normalizer normalizer);

  void encode_plain(std::string_view text, std::vector<TokenId>& ids) const override;

  // Appends the ids of a word, which is not empty.
  void append_pieces(std::string_view word, std::vector<TokenId>& ids) const;
  // The longest piece below `from` that the word begins with.
  Piece longest_piece(TokenTrie::Node from, std::string_view word) const;

  // Takes spaces away in front of . , ! ? and of 's 'm 're 've, and around a lone apostrophe.
  void tidy(std::string& text) const override;

  Normalizer normalizer_;
  TokenTrie trie_;
  TokenTrie::Node word_start_;  // what the first piece of a word is below
};

}  // namespace kinglet
