// BPE in the order of a list. A pre-tokenizer cuts the text into words; in each, symbols and then
// tokens merge in the order of the file's merges.
//
// Byte-level (tokenizer.ggml.model = "gpt2"): GPT-2, Llama 3, Qwen, SmolLM, Phi-2, StarCoder.
// Symbols are bytes. The file spells each as a printable character (GPT-2's bytes_to_unicode); the
// vocabulary is read with the bytes in their place instead.
//
// Of characters ("gemma4"): Gemma 4. The file spells a space as U+2581, as SentencePiece's do, and
// the vocabulary is read with spaces in its place; characters that are no token become tokens for
// their bytes.
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
  // As Vocabulary::from_gguf; besides, ErrorCode::unsupported_tokenizer names a pre-tokenizer
  // (tokenizer.ggml.pre) that is not implemented, and tokenizer.ggml.merges is required: corrupt
  // where a line is not two tokens.
  static Result<std::unique_ptr<Tokenizer>> from_gguf(const GgufHeader& header);

 private:
  // A line of the file's merges, "left right"; the first is the first to be done.
  struct Merge {
    TokenId left;
    TokenId right;
    TokenId id;
  };
  class RankRule;

  BpeTokenizer(Vocabulary vocabulary, const Pretokenizer& pretokenizer);

  Status read_merges(const GgufHeader& header, const VocabularyKind& kind);
  void build_index();
  // Where the index holds the merge of the two, or would hold it.
  size_t slot_of(TokenId left, TokenId right) const;

  void encode_plain(std::string_view text, std::vector<TokenId>& ids) const override;

  const Pretokenizer* pretokenizer_;
  std::array<TokenId, 256> byte_ids_;  // kNoToken where no token stands for the byte
  BytePairs neighbours_;               // in normal tokens, where characters merge
  std::vector<Merge> merges_;          // by rank
  std::vector<uint32_t> slots_;  // open addressing over merges: rank + 1, or 0; a power of two
};

}  // namespace kinglet
