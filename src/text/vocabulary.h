// The vocabulary of a model: what each token stands for. All kinds of tokenizers use it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/header.h"

namespace kinglet {

using TokenId = int32_t;
constexpr TokenId kNoToken = -1;

// The values are those of tokenizer.ggml.token_type (SentencePiece's
// ModelProto.SentencePiece.Type).
enum class TokenType : uint8_t {
  normal = 1,        // text, found by merging
  unknown = 2,       // what the vocabulary cannot express
  control = 3,       // structure, not text: "<s>", "<|im_end|>"
  user_defined = 4,  // text that is neither merged nor cut
  unused = 5,        // a placeholder
  byte = 6,          // one byte, spelled "<0x0A>"
};

// What the kind of tokenizer says about its vocabulary.
struct VocabularyKind {
  // Appends to `bytes` what a normal token stands for, given how the file spells it.
  void (*append_bytes)(std::string_view spelled, std::string& bytes);
  // Defaults, if the file does not say:
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = false;
  TokenId bos = kNoToken;  // default ids outside the vocabulary are ignored
  TokenId eos = kNoToken;
  TokenId unknown = kNoToken;
  TokenId separator = kNoToken;

  bool always_adds_bos = false;       // whatever the file says
  bool may_add_space_prefix = false;  // if false, never adds one, whatever the file says
  bool drops_later_prefixes = false;  // see Vocabulary::drops_later_prefixes()
  bool ends_with_separator = false;   // texts end with the separator, not with eos
  bool adds_separator = false;        // between two texts, if the file does not say
};

class Vocabulary {
 public:
  // Reads tokenizer.ggml.{tokens, scores, token_type, *_token_id, suppress_tokens, add_*}; `header`
  // may go away. An id of -1 or 2^32 - 1 means that there is no such token. Errors:
  // missing_metadata (no tokens), wrong_type (of an array or an id), corrupt (an empty array of
  // tokens, arrays of different sizes, an id outside the vocabulary, a type that does not exist, a
  // byte token that is not spelled as one), not_finite (a score is NaN).
  static Result<Vocabulary> from_gguf(const GgufHeader& header, const VocabularyKind& kind);

  TokenId size() const { return static_cast<TokenId>(tokens_.size()) - 1; }
  bool contains(TokenId id) const { return id >= 0 && id < size(); }

  // Returns what the token stands for; for a control or unknown token, its name.
  std::string_view bytes(TokenId id) const {
    const size_t begin = token(id).begin;
    return std::string_view(bytes_).substr(begin,
                                           tokens_[static_cast<size_t>(id) + 1].begin - begin);
  }
  TokenType type(TokenId id) const { return token(id).type; }
  float score(TokenId id) const { return token(id).score; }  // 0 if the file has no scores
  bool is_end_of_generation(TokenId id) const { return token(id).ends_generation; }

  // The tokens that must never be generated, as the file says.
  const std::vector<TokenId>& suppressed() const { return suppressed_; }

  // Whether a text that spells the token is recognised as a whole, instead of by merging.
  bool is_added(TokenId id) const {
    return type(id) == TokenType::control || type(id) == TokenType::user_defined ||
           type(id) == TokenType::unknown;
  }

  // Whether encoding skips the white space after this token. Phi-3 was trained with its marks of
  // structure on lines of their own, but without the line ends in its input. The three names are
  // the exceptions in Phi-3's tokenizer.
  bool takes_spaces_behind(TokenId id) const {
    return marks_take_spaces_ && is_added(id) && bytes(id) != "<unk>" && bytes(id) != "<s>" &&
           bytes(id) != "<|endoftext|>";
  }

  // Returns the normal token that stands for `bytes` (the last of several), or kNoToken.
  TokenId find(std::string_view bytes) const;

  // Like find(bytes), but faster if the result is `guess`.
  TokenId find(std::string_view bytes, TokenId guess) const;

  size_t max_normal_bytes() const { return max_normal_bytes_; }  // of the longest normal token

  // Returns the token of type `byte` for this byte, or kNoToken.
  TokenId byte_token(uint8_t byte) const { return byte_tokens_[byte]; }
  bool has_all_bytes() const { return has_all_bytes_; }

  // These four are kNoToken if neither the file nor the kind of tokenizer names one.
  TokenId bos() const { return bos_; }
  TokenId eos() const { return eos_; }
  TokenId unknown() const { return unknown_; }
  TokenId separator() const { return separator_; }  // of two texts: BERT's "[SEP]"

  // The token between two texts, after the end token of the first one; kNoToken if there is none.
  TokenId pair_separator() const { return pair_separator_; }

  bool add_bos() const { return add_bos_; }
  bool add_eos() const { return add_eos_; }
  TokenId end_of_text() const { return end_of_text_; }  // what add_eos() adds: eos or the separator
  bool add_space_prefix() const { return add_space_prefix_; }
  // Whether decoding drops the space in front of plain text also after an added token, not only at
  // the start. Where spaces merge, that space cannot be distinguished from one of the text itself.
  bool drops_later_prefixes() const { return drops_later_prefixes_; }

 private:
  struct Token {
    uint32_t begin;  // in bytes_; the token ends where the next one begins
    float score = 0;
    TokenType type = TokenType::normal;
    bool ends_generation = false;
  };

  const Token& token(TokenId id) const { return tokens_[static_cast<size_t>(id)]; }

  size_t n_tokens() const { return tokens_.size() - 1; }

  Status read_types(const GgufHeader& header);
  Status read_scores(const GgufHeader& header);
  Status read_texts(const GgufHeader& header, const MetadataArray& texts,
                    const VocabularyKind& kind);
  Status read_special_ids(const GgufHeader& header, const VocabularyKind& kind);
  void set_end(TokenId id);                                         // does nothing for kNoToken
  [[gnu::noinline]] TokenId find_end(std::string_view name) const;  // or kNoToken
  [[gnu::noinline]] void unset_end(std::string_view name, TokenType type);
  void unset_ends_of_parts();
  Status read_further_ends(const GgufHeader& header);
  Status read_suppressed(const GgufHeader& header);
  Status read_flags(const GgufHeader& header, const VocabularyKind& kind);
  Result<TokenId> read_id(const GgufHeader& header, std::string_view key,
                          TokenId fallback = kNoToken) const;
  void build_index();
  // Returns the slot of the index that holds the token for `wanted`, or the slot for a new one.
  size_t slot_of(std::string_view wanted) const;

  std::vector<Token> tokens_;   // [size + 1]: the last one only ends its predecessor
  std::string bytes_;           // the bytes of all tokens, one after the other
  std::vector<TokenId> slots_;  // hash table of normal tokens; power-of-two size, half empty
  std::vector<TokenId> suppressed_;
  bool has_doubles_ = false;  // whether several normal tokens stand for the same bytes
  size_t max_normal_bytes_ = 0;
  std::array<TokenId, 256> byte_tokens_;
  bool has_all_bytes_ = false;
  TokenId bos_ = kNoToken;
  TokenId eos_ = kNoToken;
  TokenId unknown_ = kNoToken;
  TokenId separator_ = kNoToken;
  TokenId end_of_text_ = kNoToken;
  bool add_bos_ = false;
  bool add_eos_ = false;
  TokenId pair_separator_ = kNoToken;
  bool add_space_prefix_ = false;
  bool drops_later_prefixes_ = false;
  bool marks_take_spaces_ = false;
};

}  // namespace kinglet
