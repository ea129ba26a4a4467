// SentencePiece-style BPE (tokenizer.ggml.model = "llama"): Llama 1 and 2, Mistral, Gemma, Phi-3.
//
// The file spells a space as U+2581. The vocabulary is read with spaces in its place instead, so
// that texts are merged as they are, and a U+2581 that a text itself contains survives.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "text/byte_pairs.h"
#include "text/tokenizer.h"

namespace kinglet {

class SpmTokenizer final : public Tokenizer {
 public:
  // As Vocabulary::from_gguf; besides, tokenizer.ggml.scores is required, and an unknown token
  // where byte tokens are missing.
  static Result<std::unique_ptr<Tokenizer>> from_gguf(const GgufHeader& header);

 private:
  explicit SpmTokenizer(Vocabulary vocabulary);

  void encode_plain(std::string_view text, std::vector<TokenId>& ids) const override;
  // Appends the ids of a character that is no token.
  void append_unknown(std::string_view character, std::vector<TokenId>& ids) const;

  BytePairs neighbours_;  // in normal tokens
};

}  // namespace kinglet
