// SentencePiece-style BPE (tokenizer.ggml.model = "llama"): Llama 1 and 2, Mistral, Gemma, Phi-3.
//
// The file spells a space as U+2581. Reading the vocabulary turns U+2581 back into spaces; in a
// text, U+2581 becomes a space, too.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "text/byte_pairs.h"
#include "text/tokenizer.h"

namespace kinglet {

class SpmTokenizer final : public Tokenizer {
 public:
  // Errors: those of Vocabulary::from_gguf. Besides, tokenizer.ggml.scores is required, and an
  // unknown token is required if byte tokens are missing.
  static Result<std::unique_ptr<Tokenizer>> from_gguf(const GgufHeader& header);

 private:
  explicit SpmTokenizer(Vocabulary vocabulary);

  void encode_plain(std::string_view text, const Cancellation& cancellation,
                    std::vector<TokenId>& ids) const override;
  // Appends the ids of a character that is not a token.
  void append_unknown(std::string_view character, std::vector<TokenId>& ids) const;

  BytePairs neighbours_;  // of normal tokens
};

}  // namespace kinglet
