// Converts text to token ids and back, with the vocabulary of a GGUF file.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "gguf/header.h"
#include "text/added_tokens.h"
#include "text/token_index.h"
#include "text/vocabulary.h"

namespace kinglet {

struct EncodeOptions {
  bool add_bos = true;         // prepend BOS if the vocabulary asks for it and the text has none
  bool parse_special = false;  // recognise control tokens that are spelled out in the text
  bool add_eos = false;        // append EOS, or BERT's separator, if the vocabulary asks for it
  Cancellation cancellation = {};  // ends the work early: the ids are then not those of the text
};

// The base of all kinds of tokenizers: the vocabulary, the tokens that a text spells out, and
// decoding. A derived class defines how the plain text between spelled-out tokens becomes ids.
class Tokenizer {
 public:
  // Reads tokenizer.ggml.* and copies what it needs: the header may go away. Errors:
  // unsupported_tokenizer (names a model that is not implemented), missing_metadata (the file has
  // no tokenizer), and those of Vocabulary::from_gguf.
  static Result<std::unique_ptr<Tokenizer>> from_gguf(const GgufHeader& header);

  virtual ~Tokenizer() = default;

  // Returns the ids of `text`, which may be any bytes: invalid UTF-8 is encoded byte by byte. If
  // the vocabulary has no tokens for bytes, they become its unknown token (SentencePiece) or are
  // left out (BPE). Takes time O(n log n); `text` must be shorter than 4 GiB.
  //
  // `plain`: ranges, in order and not empty, of bytes that are never part of a control token,
  // whatever they spell.
  std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {},
                              std::span<const TextRange> plain = {}) const;

  // Returns the bytes that a token stands for, which may be half a UTF-8 character. The result is
  // empty for control tokens unless `special` is set, and always for unused tokens and ids outside
  // [0, n_tokens()).
  std::string_view piece(TokenId id, bool special = false) const;

  // Appends what `id` adds to a text: its piece, without the space that encode() puts in front of
  // plain text at the start and (in SentencePiece-style BPE) after an added token. `at_start` says
  // whether `id` stands in such a place; the function updates it for the id that follows.
  void append_text(TokenId id, bool special, bool& at_start, std::string& out) const;

  // Returns the text of the ids. decode(encode(text)) is `text` if the vocabulary has byte tokens
  // and no control tokens were parsed. With a SentencePiece-style vocabulary, U+2581 comes back as
  // a space. Kinds that change a text before they look for tokens (WordPiece, unigram) return the
  // changed text. ErrorCode::invalid_argument names an id outside [0, n_tokens()).
  Result<std::string> decode(std::span<const TokenId> ids, bool special = false) const;

  TokenId n_tokens() const { return vocabulary_.size(); }
  TokenId bos() const { return vocabulary_.bos(); }  // kNoToken if the vocabulary has none
  TokenId eos() const { return vocabulary_.eos(); }

  // Whether generation ends when this token is sampled: eos, eot, and every other token that ends a
  // turn, because the file declares it or its name is known to do so.
  bool is_end_of_generation(TokenId id) const {
    return vocabulary_.contains(id) && vocabulary_.is_end_of_generation(id);
  }

  const Vocabulary& vocabulary() const { return vocabulary_; }

  // The first call builds the index.
  const TokenIndex& index() const;

 protected:
  explicit Tokenizer(Vocabulary vocabulary)
      : vocabulary_(std::move(vocabulary)), added_tokens_(vocabulary_) {}

 private:
  // Appends the ids of plain text, not empty, that stands at the start or after an added token.
  virtual void encode_plain(std::string_view text, const Cancellation& cancellation,
                            std::vector<TokenId>& ids) const = 0;

  // The last step of decode(), on the whole text.
  virtual void tidy(std::string&) const {}

  Vocabulary vocabulary_;
  AddedTokens added_tokens_;
  mutable std::once_flag index_is_built_;
  mutable std::optional<TokenIndex> index_;
};

// Joins the pieces of tokens as they are generated, and returns only whole UTF-8 characters. Bytes
// that can no longer become a character become U+FFFD, as in a web browser.
class StreamDecoder {
 public:
  // `tokenizer` must outlive the decoder. `at_start`: the first piece begins the text, so the space
  // that encode() puts in front of a text is dropped from this piece. `marks`: control tokens that
  // appear in the text nevertheless.
  explicit StreamDecoder(const Tokenizer& tokenizer, bool at_start = false,
                         std::vector<std::string> marks = {})
      : tokenizer_(&tokenizer), marks_(std::move(marks)), at_start_(at_start) {}

  // Returns the text that `id` completes; empty while a character is unfinished.
  std::string next(TokenId id);

  // Returns U+FFFD if a character was left unfinished; otherwise an empty text.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  std::vector<std::string> marks_;
  std::string pending_;  // the beginning of a character
  bool at_start_;
};

}  // namespace kinglet
