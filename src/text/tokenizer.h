// Text to token ids and back, from the vocabulary in a GGUF file.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/header.h"
#include "text/added_tokens.h"
#include "text/token_index.h"
#include "text/vocabulary.h"

namespace kinglet {

struct EncodeOptions {
  bool add_bos = true;         // prepend BOS where the vocabulary asks for it and the text has none
  bool parse_special = false;  // recognise control tokens that are spelled out in the text
  bool add_eos = false;        // append EOS, or BERT's separator, where the vocabulary asks for it
};

// What all kinds share: the vocabulary, the tokens that a text spells out, and the way back to
// text. A kind says how the plain text between such tokens becomes ids.
class Tokenizer {
 public:
  // Reads tokenizer.ggml.*. ErrorCode::unsupported_tokenizer names a model that is not implemented;
  // missing_metadata where the file has no tokenizer; else as Vocabulary::from_gguf.
  // Copies what it needs: the header may go away.
  static Result<std::unique_ptr<Tokenizer>> from_gguf(const GgufHeader& header);

  virtual ~Tokenizer() = default;

  // Any bytes have ids: invalid UTF-8 is encoded byte by byte. A vocabulary that lacks tokens for
  // bytes gives its unknown token for them (SentencePiece) or leaves them out (BPE). Takes time O(n
  // log n); `text` must be shorter than 4 GiB.
  //
  // `plain`: bytes that are no part of a control token whatever they spell, as ranges in order,
  // none of them empty.
  std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {},
                              std::span<const TextRange> plain = {}) const;

  // The bytes one token stands for, possibly half a UTF-8 character; control tokens have none
  // unless `special`, unused ids and those outside [0, n_tokens()) have none at all.
  std::string_view piece(TokenId id, bool special = false) const;

  // Appends what `id` adds to a text: its piece, without the space that encode() puts in front of
  // plain text at the start and (SentencePiece-style BPE) after an added token. `at_start` says
  // whether `id` stands in such a place, and is then set for the id that follows.
  void append_text(TokenId id, bool special, bool& at_start, std::string& out) const;

  // The text of the ids: decode(encode(text)) is `text`, where the vocabulary has byte tokens and
  // no control tokens were parsed. From a SentencePiece-style one, U+2581 comes back as a space.
  // A kind that changes texts before it looks for tokens (WordPiece, unigram) gives back the
  // changed ones.
  // ErrorCode::invalid_argument names an id outside [0, n_tokens()).
  Result<std::string> decode(std::span<const TokenId> ids, bool special = false) const;

  TokenId n_tokens() const { return vocabulary_.size(); }
  TokenId bos() const { return vocabulary_.bos(); }  // kNoToken where the vocabulary has none
  TokenId eos() const { return vocabulary_.eos(); }

  // Whether generation ends when this token is drawn: eos, eot, and every further id that the file
  // declares, or that is known, as the end of a turn.
  bool is_end_of_generation(TokenId id) const {
    return vocabulary_.contains(id) && vocabulary_.is_end_of_generation(id);
  }

  const Vocabulary& vocabulary() const { return vocabulary_; }

  // Built by the first call.
  const TokenIndex& index() const;

 protected:
  explicit Tokenizer(Vocabulary vocabulary)
      : vocabulary_(std::move(vocabulary)), added_tokens_(vocabulary_) {}

 private:
  // Appends the ids of plain text, at least one byte of it, that stands at the start or after an
  // added token.
  virtual void encode_plain(std::string_view text, std::vector<TokenId>& ids) const = 0;

  // What decode() does with a whole text in the end.
  virtual void tidy(std::string&) const {}

  Vocabulary vocabulary_;
  AddedTokens added_tokens_;
  mutable std::once_flag index_is_built_;
  mutable std::optional<TokenIndex> index_;
};

// Joins the pieces of tokens as they are generated, and gives out only whole UTF-8 characters.
// Bytes that can no longer become a character come out as U+FFFD, as a web browser would replace
// them.
class StreamDecoder {
 public:
  // `tokenizer` must outlive the decoder. `at_start`: the first piece begins the text, so that the
  // space which encode() puts in front of a text is dropped from it.
  // `marks`: control tokens that are part of the text all the same.
  explicit StreamDecoder(const Tokenizer& tokenizer, bool at_start = false,
                         std::vector<std::string> marks = {})
      : tokenizer_(&tokenizer), marks_(std::move(marks)), at_start_(at_start) {}

  // The text that `id` completes; empty while a character is unfinished.
  std::string next(TokenId id);

  // What is left of an unfinished character, as U+FFFD; empty otherwise.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  std::vector<std::string> marks_;
  std::string pending_;  // the beginning of a character
  bool at_start_;
};

}  // namespace kinglet
