#include "text/vocabulary.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/ascii.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "text/token_names.h"

namespace kinglet {
namespace {

constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kScoresKey = "tokenizer.ggml.scores";
constexpr std::string_view kTypesKey = "tokenizer.ggml.token_type";
// Only some converters (Ollama's) write this key, in addition to eos_token_id.
constexpr std::string_view kEndsKey = "tokenizer.ggml.eos_token_ids";
constexpr std::string_view kSuppressedKey = "tokenizer.ggml.suppress_tokens";

// Returns the value of a byte token such as "<0x0A>"; nullopt for other texts.
std::optional<uint8_t> parse_byte_token(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  const auto high = hex_digit(text[3]);
  const auto low = hex_digit(text[4]);
  if (!high || !low) return std::nullopt;
  return static_cast<uint8_t>(*high << 4 | *low);
}

Error wrong_size(std::string_view key, uint64_t size, uint64_t n_tokens) {
  return {ErrorCode::corrupt, cat(key, " has ", size, " elements, expected ", n_tokens,
                                  ", one for each of ", kTokensKey)};
}

}  // namespace

Result<Vocabulary> Vocabulary::from_gguf(const GgufHeader& header, const VocabularyKind& kind) {
  KINGLET_ASSIGN(const auto texts, header.require_array(kTokensKey, ValueType::string));
  if (texts.size() == 0) {
    return Error{ErrorCode::corrupt, cat(kTokensKey, " is empty, expected at least one token")};
  }
  Vocabulary vocabulary;
  vocabulary.tokens_.resize(static_cast<size_t>(texts.size()) + 1);
  KINGLET_TRY(vocabulary.read_types(header));
  KINGLET_TRY(vocabulary.read_scores(header));
  KINGLET_TRY(vocabulary.read_texts(header, texts, kind));
  KINGLET_TRY(vocabulary.read_special_ids(header, kind));
  KINGLET_TRY(vocabulary.read_suppressed(header));
  KINGLET_TRY(vocabulary.read_flags(header, kind));
  vocabulary.build_index();
  return vocabulary;
}

Status Vocabulary::read_types(const GgufHeader& header) {
  if (header.find(kTypesKey) == nullptr) return {};
  KINGLET_ASSIGN(const auto types, header.require_integers(kTypesKey));
  if (types.size() != n_tokens()) return wrong_size(kTypesKey, types.size(), n_tokens());

  Status status;
  types.for_each([&](uint64_t i, const MetadataValue& value) {
    const auto type = value.as_uint();
    if (!type || *type > static_cast<uint64_t>(TokenType::byte)) {
      const std::string found = type ? cat(*type) : cat(*value.as_int());
      status = Error{ErrorCode::corrupt,
                     cat(kTypesKey, " gives token ", i, " the type ", found, ", expected 0 to 6")};
      return;
    }
    // Converters write 0, "undefined", for ids that the model's vocabulary skips.
    tokens_[static_cast<size_t>(i)].type = *type == 0 ? TokenType::unused : TokenType(*type);
  });
  return status;
}

Status Vocabulary::read_scores(const GgufHeader& header) {
  if (header.find(kScoresKey) == nullptr) return {};
  KINGLET_ASSIGN(const auto scores, header.require_array(kScoresKey, ValueType::float32));
  if (scores.size() != n_tokens()) return wrong_size(kScoresKey, scores.size(), n_tokens());

  Status status;
  scores.for_each([&](uint64_t i, const MetadataValue& value) {
    const auto score = static_cast<float>(value.as_float().value_or(0));
    if (std::isnan(score)) {  // NaN would leave merges without an order
      status = Error{ErrorCode::not_finite, cat(kScoresKey, " gives token ", i, " the score NaN")};
    }
    tokens_[static_cast<size_t>(i)].score = score;
  });
  return status;
}

Status Vocabulary::read_texts(const GgufHeader& header, const MetadataArray& texts,
                              const VocabularyKind& kind) {
  Status status;
  byte_tokens_.fill(kNoToken);
  texts.for_each([&](uint64_t i, const MetadataValue& value) {
    const std::string_view text = *value.as_string();
    Token& token = tokens_[static_cast<size_t>(i)];
    token.begin = static_cast<uint32_t>(bytes_.size());
    const NameMeaning meaning = meaning_of_name(header, text);
    if (meaning != NameMeaning::none) token.type = TokenType::control;
    token.ends_generation = meaning == NameMeaning::end;
    if (token.type == TokenType::byte) {
      const auto byte = parse_byte_token(text);
      if (!byte) {
        status = Error{ErrorCode::corrupt, cat("token ", i, " is a byte token spelled ",
                                               in_quotes(text), ", expected <0x00> to <0xFF>")};
        return;
      }
      byte_tokens_[*byte] = static_cast<TokenId>(i);
      bytes_ += static_cast<char>(*byte);
    } else if (token.type == TokenType::normal) {
      kind.append_bytes(text, bytes_);
    } else {
      bytes_ += text;
    }
  });
  tokens_.back().begin = static_cast<uint32_t>(bytes_.size());
  has_all_bytes_ =
      std::find(byte_tokens_.begin(), byte_tokens_.end(), kNoToken) == byte_tokens_.end();
  return status;
}

Result<TokenId> Vocabulary::read_id(const GgufHeader& header, std::string_view key,
                                    TokenId fallback) const {
  const MetadataValue* value = header.find(key);
  if (value == nullptr) return contains(fallback) ? fallback : kNoToken;
  if (means_no_token(*value)) return kNoToken;
  KINGLET_ASSIGN(const uint32_t id, header.require_uint(key));
  if (id >= n_tokens()) {
    return Error{ErrorCode::corrupt,
                 cat(key, ": token id ", id, " is out of range (vocabulary: ", n_tokens(), ")")};
  }
  return static_cast<TokenId>(id);
}

Status Vocabulary::read_special_ids(const GgufHeader& header, const VocabularyKind& kind) {
  // Texts that end with a separator begin with the classification token, which sums them up.
  TokenId bos = kind.bos;
  if (kind.ends_with_separator) {
    KINGLET_ASSIGN(bos, read_id(header, "tokenizer.ggml.cls_token_id", bos));
  }
  KINGLET_ASSIGN(bos_, read_id(header, "tokenizer.ggml.bos_token_id", bos));
  KINGLET_ASSIGN(eos_, read_id(header, "tokenizer.ggml.eos_token_id", kind.eos));
  KINGLET_ASSIGN(unknown_, read_id(header, "tokenizer.ggml.unknown_token_id", kind.unknown));
  // The misspelling is part of the key.
  KINGLET_ASSIGN(separator_, read_id(header, "tokenizer.ggml.seperator_token_id", kind.separator));
  end_of_text_ = kind.ends_with_separator ? separator_ : eos_;
  set_end(eos_);
  for (const std::string_view key : {"eot", "eom", "fim_pad", "fim_rep", "fim_sep"}) {
    KINGLET_ASSIGN(const TokenId id, read_id(header, cat("tokenizer.ggml.", key, "_token_id")));
    set_end(id);
  }
  unset_ends_of_parts();
  return read_further_ends(header);
}

void Vocabulary::set_end(TokenId id) {
  if (id != kNoToken) tokens_[static_cast<size_t>(id)].ends_generation = true;
}

TokenId Vocabulary::find_end(std::string_view name) const {
  TokenId id = 0;
  while (id < size() && !(is_end_of_generation(id) && bytes(id) == name)) ++id;
  return id < size() ? id : kNoToken;
}

void Vocabulary::unset_end(std::string_view name, TokenType type) {
  const TokenId id = find_end(name);
  if (id == kNoToken) return;
  tokens_[static_cast<size_t>(id)].type = type;
  tokens_[static_cast<size_t>(id)].ends_generation = false;
}

// If answers have several parts, a token that ends turns in other formats may end only one part.
void Vocabulary::unset_ends_of_parts() {
  const auto any_ends = [this](std::string_view one, std::string_view other) {
    return find_end(one) != kNoToken || find_end(other) != kNoToken;
  };
  // gpt-oss, Solar: <|end|> ends thoughts, too.
  if (any_ends("<|call|>", "<|calls|>") && any_ends("<|return|>", "<|flush|>")) {
    unset_end("<|end|>", TokenType::user_defined);
  }
  // Gemma 4: </s> is an HTML tag in its vocabulary.
  if (find_end("<|tool_response>") != kNoToken) unset_end("</s>", TokenType::normal);
}

Status Vocabulary::read_further_ends(const GgufHeader& header) {
  const MetadataValue* value = header.find(kEndsKey);
  const auto ids = value == nullptr ? std::nullopt : value->as_array();
  if (!ids) return {};
  Status status;
  ids->for_each([&](uint64_t, const MetadataValue& id) {
    if (means_no_token(id)) return;
    const auto index = id.as_uint();
    if (index && *index < n_tokens()) {
      set_end(static_cast<TokenId>(*index));
    } else {
      status = Error{
          ErrorCode::corrupt,
          cat(kEndsKey, " has an element that is not a token id (vocabulary: ", n_tokens(), ")")};
    }
  });
  return status;
}

Status Vocabulary::read_suppressed(const GgufHeader& header) {
  if (header.find(kSuppressedKey) == nullptr) return {};
  KINGLET_ASSIGN(const auto ids, header.require_integers(kSuppressedKey));
  // Ids outside the vocabulary suppress nothing, as in llama.cpp.
  ids.for_each([&](uint64_t, const MetadataValue& value) {
    const auto id = value.as_int();
    if (id && *id >= 0 && *id < size()) suppressed_.push_back(static_cast<TokenId>(*id));
  });
  return {};
}

Status Vocabulary::read_flags(const GgufHeader& header, const VocabularyKind& kind) {
  KINGLET_ASSIGN(add_bos_, header.get_bool("tokenizer.ggml.add_bos_token", kind.add_bos));
  add_bos_ = add_bos_ || kind.always_adds_bos;
  KINGLET_ASSIGN(add_eos_, header.get_bool("tokenizer.ggml.add_eos_token", kind.add_eos));
  KINGLET_ASSIGN(const bool add_separator,
                 header.get_bool("tokenizer.ggml.add_sep_token",
                                 kind.adds_separator || kind.ends_with_separator));
  if (kind.ends_with_separator) {
    add_eos_ = add_eos_ || add_separator;
  } else if (add_separator) {
    pair_separator_ = separator_;
  }
  KINGLET_ASSIGN(const bool add_space_prefix,
                 header.get_bool("tokenizer.ggml.add_space_prefix", kind.add_space_prefix));
  add_space_prefix_ = add_space_prefix && kind.may_add_space_prefix;
  drops_later_prefixes_ = kind.drops_later_prefixes;
  // Files do not say. Phi-4 has the same architecture, but another kind of vocabulary.
  KINGLET_ASSIGN(const std::string_view architecture,
                 header.get_string("general.architecture", ""));
  marks_take_spaces_ = architecture == "phi3" && kind.may_add_space_prefix;
  return {};
}

}  // namespace kinglet
