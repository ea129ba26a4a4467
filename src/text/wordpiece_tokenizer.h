// WordPiece (tokenizer.ggml.model = "bert"): BERT, MiniLM, BGE, E5, GTE, Nomic Embed.
//
// Each word is cut, from the left, into the longest pieces that the vocabulary has. A word that
// cannot be cut is one unknown token. The file spells the first piece of a word with U+2581 in
// front (and leaves out the "##" that BERT's own vocabularies have in front of all other pieces).
// Reading the vocabulary turns this U+2581 into a space. A U+2581 in a text is an ordinary
// character.
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
  // Errors: those of Vocabulary::from_gguf; missing_metadata (there is no [UNK]). Defaults if the
  // file does not say: texts are converted to lower case (tokenizer.ggml.normalizer.lowercase);
  // their accents are removed if they are (tokenizer.ggml.normalizer.strip_accents); the ids of
  // [CLS], [SEP] and [UNK] are those of the first BERT: 101, 102, 100.
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

  void encode_plain(std::string_view text, const Cancellation& cancellation,
                    std::vector<TokenId>& ids) const override;

  // Appends the ids of a word, which must not be empty.
  void append_pieces(std::string_view word, std::vector<TokenId>& ids) const;
  // Returns the longest piece below the node `from` that the word begins with; its id is kNoToken
  // if there is none.
  Piece longest_piece(TokenTrie::Node from, std::string_view word) const;

  // Removes spaces in front of . , ! ? and of 's 'm 're 've, and around a lone apostrophe.
  void tidy(std::string& text) const override;

  Normalizer normalizer_;
  TokenTrie trie_;
  TokenTrie::Node word_start_;  // the first piece of a word is below this node
};

}  // namespace kinglet
