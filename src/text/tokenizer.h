// Text to token ids and back, from the vocabulary in a GGUF file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/header.h"

namespace kinglet {

using TokenId = int32_t;
constexpr TokenId kNoToken = -1;

struct EncodeOptions {
  bool add_bos = true;         // prepend BOS where the vocabulary asks for it
  bool parse_special = false;  // recognise control tokens that are spelled out in the text
};

class Tokenizer {
 public:
  // Reads tokenizer.ggml.*. ErrorCode::unsupported_tokenizer names a model that is not implemented.
  // Copies what it needs: the header may go away.
  static Result<std::unique_ptr<Tokenizer>> from_gguf(const GgufHeader& header);

  virtual ~Tokenizer() = default;

  // Any bytes have ids: invalid UTF-8 is encoded byte by byte (as the unknown token where the
  // vocabulary has no byte tokens).
  virtual std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {}) const = 0;

  // The bytes one token stands for, possibly half a UTF-8 character; control tokens have none
  // unless `special`. `id` must be in [0, n_tokens()).
  virtual std::string piece(TokenId id, bool special = false) const = 0;

  // The text of the ids, without the space that encode() puts in front.
  // ErrorCode::invalid_argument names an id outside [0, n_tokens()).
  virtual Result<std::string> decode(std::span<const TokenId> ids, bool special = false) const = 0;

  virtual TokenId n_tokens() const = 0;
  virtual TokenId bos() const = 0;  // kNoToken where the vocabulary has none
  virtual TokenId eos() const = 0;

  // Whether generation ends when this token is drawn: eos, eot, and every further id that the file
  // declares as the end of a turn.
  virtual bool is_end_of_generation(TokenId id) const = 0;
};

// Joins the pieces of tokens as they are generated, and gives out only whole UTF-8 characters.
// Bytes that can no longer become a character come out as U+FFFD.
class StreamDecoder {
 public:
  // `tokenizer` must outlive the decoder. `at_start`: the first piece begins the text, so that the
  // space which encode() puts in front of a text is dropped from it.
  explicit StreamDecoder(const Tokenizer& tokenizer, bool at_start = false);

  // The text that `id` completes; empty while a character is unfinished.
  std::string next(TokenId id);

  // What is left of an unfinished character, as U+FFFD; empty otherwise.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  std::string pending_;
  bool at_start_;
};

}  // namespace kinglet
