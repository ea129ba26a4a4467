// BPE with a list of merges. A pre-tokenizer cuts the text into words. In each word, symbols and
// then tokens merge in the order of the file's list.
//
// Byte-level BPE (tokenizer.ggml.model = "gpt2"): GPT-2, Llama 3, Qwen, SmolLM, Phi-2, StarCoder.
// Symbols are bytes. The file spells each byte as a printable character (GPT-2's
// bytes_to_unicode); reading the vocabulary turns these characters back into bytes.
//
// Character-level BPE ("gemma4"): Gemma 4. The file spells a space as U+2581, like SentencePiece
// files; reading the vocabulary turns U+2581 back into spaces. A character that is not a token
// becomes tokens for its bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "text/byte_pairs.h"
#include "text/pretokenizer.h"
#include "text/tokenizer.h"

namespace kinglet {

class BpeTokenizer final : public Tokenizer {
 public:
  // Errors: those of Vocabulary::from_gguf; ErrorCode::unsupported_tokenizer names a pre-tokenizer
  // (tokenizer.ggml.pre) that is not implemented. tokenizer.ggml.merges is required; corrupt if a
  // line is not two parts with a space between them.
  static Result<std::unique_ptr<Tokenizer>> from_gguf(const GgufHeader& header);

 private:
  // A line of the file's merges, "left right". Earlier lines merge first.
  struct Merge {
    TokenId left;
    TokenId right;
    TokenId id;
  };
  class RankRule;

  BpeTokenizer(Vocabulary vocabulary, const Pretokenizer& pretokenizer);

  Status read_merges(const GgufHeader& header, const VocabularyKind& kind);
  void build_index();
  // Returns the slot of the index that holds the merge of two tokens, or the slot for a new merge.
  size_t slot_of(TokenId left, TokenId right) const;

  void encode_plain(std::string_view text, const Cancellation& cancellation,
                    std::vector<TokenId>& ids) const override;

  const Pretokenizer* pretokenizer_;
  std::array<TokenId, 256> byte_ids_;  // kNoToken if no token stands for the byte
  BytePairs neighbours_;               // of normal tokens; empty in byte-level BPE
  std::vector<Merge> merges_;          // by rank
  std::vector<uint32_t> slots_;  // hash table, open addressing: rank + 1, or 0; power-of-two size
};

}  // namespace kinglet
