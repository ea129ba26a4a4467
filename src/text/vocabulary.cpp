#include "text/vocabulary.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/format.h"
#include "gguf/quoted.h"

namespace kinglet {
namespace {

constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kScoresKey = "tokenizer.ggml.scores";
constexpr std::string_view kTypesKey = "tokenizer.ggml.token_type";
// Only some converters write it (Ollama's), beside the one of eos_token_id.
constexpr std::string_view kEndsKey = "tokenizer.ggml.eos_token_ids";

// Tokens that end a turn in the chat formats of model families whose files often declare only
// their eos. The spellings are too odd to be anything else, whatever type the file gives them.
constexpr std::string_view kEndsOfTurn[] = {
    "<|im_end|>",             // ChatML: Qwen, SmolLM, Hermes
    "<|eot_id|>",             // Llama 3
    "<|eom_id|>",             // Llama 3.1, before a tool's answer
    "<end_of_turn>",          // Gemma
    "<|end|>",                // Phi-3
    "<|endoftext|>",          // GPT-2, Qwen, Phi
    "<|end_of_text|>",        // Llama 3, Granite
    "<｜end▁of▁sentence｜>",  // DeepSeek
    "<EOT>",                  // Code Llama
    "_<EOT>",                 // ... in some of its files
    "[EOT]",                  // Kimi
    "<end_of_utterance>",     // SmolVLM
    "<|fim_pad|>",            // Qwen Coder, behind what it filled in
    "<|repo_name|>",          // ... before another repository
    "<|file_sep|>",           // ... before another file
};

bool ends_turn(std::string_view text) {
  return std::find(std::begin(kEndsOfTurn), std::end(kEndsOfTurn), text) != std::end(kEndsOfTurn);
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return std::nullopt;
}

// The value of "<0x0A>".
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

// FNV-1a (Fowler, Noll, Vo).
size_t hash(std::string_view bytes) {
  uint64_t h = 0xcbf29ce484222325u;
  for (const char c : bytes) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return static_cast<size_t>(h ^ h >> 32);
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
  KINGLET_TRY(vocabulary.read_texts(texts, kind));
  KINGLET_TRY(vocabulary.read_special_ids(header));
  KINGLET_TRY(vocabulary.read_flags(header, kind));
  vocabulary.build_index();
  return vocabulary;
}

TokenId Vocabulary::find(std::string_view bytes) const { return slots_[slot_of(bytes)]; }

Status Vocabulary::read_types(const GgufHeader& header) {
  if (header.find(kTypesKey) == nullptr) return {};
  KINGLET_ASSIGN(const auto types, header.require_array(kTypesKey, ValueType::int32));
  if (types.size() != n_tokens()) return wrong_size(kTypesKey, types.size(), n_tokens());

  Status status;
  types.for_each([&](uint64_t i, const MetadataValue& value) {
    const int64_t type = value.as_int().value_or(-1);
    if (type < 0 || type > static_cast<int64_t>(TokenType::byte)) {
      status = Error{ErrorCode::corrupt,
                     cat(kTypesKey, " gives token ", i, " the type ", type, ", expected 0 to 6")};
      return;
    }
    // 0, "undefined", is what converters write for ids that the model's vocabulary skips.
    tokens_[static_cast<size_t>(i)].type = type == 0 ? TokenType::unused : TokenType(type);
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
    if (std::isnan(score)) {  // would leave merging without an order
      status = Error{ErrorCode::not_finite, cat(kScoresKey, " gives token ", i, " the score NaN")};
    }
    tokens_[static_cast<size_t>(i)].score = score;
  });
  return status;
}

Status Vocabulary::read_texts(const MetadataArray& texts, const VocabularyKind& kind) {
  Status status;
  byte_tokens_.fill(kNoToken);
  texts.for_each([&](uint64_t i, const MetadataValue& value) {
    const std::string_view text = *value.as_string();
    Token& token = tokens_[static_cast<size_t>(i)];
    token.begin = static_cast<uint32_t>(bytes_.size());
    if (ends_turn(text)) {
      token.type = TokenType::control;
      token.ends_generation = true;
    }
    if (token.type == TokenType::byte) {
      const auto byte = parse_byte_token(text);
      if (!byte) {
        status = Error{ErrorCode::corrupt, cat("token ", i, " is a byte token spelled ",
                                               quoted(text), ", expected <0x00> to <0xFF>")};
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

Result<TokenId> Vocabulary::read_id(const GgufHeader& header, std::string_view key) const {
  if (header.find(key) == nullptr) return kNoToken;
  KINGLET_ASSIGN(const uint32_t id, header.require_uint(key));
  if (id >= n_tokens()) {
    return Error{ErrorCode::corrupt,
                 cat(key, " is ", id, ", expected the id of one of the ", n_tokens(), " tokens")};
  }
  return static_cast<TokenId>(id);
}

Status Vocabulary::read_special_ids(const GgufHeader& header) {
  KINGLET_ASSIGN(bos_, read_id(header, "tokenizer.ggml.bos_token_id"));
  KINGLET_ASSIGN(eos_, read_id(header, "tokenizer.ggml.eos_token_id"));
  KINGLET_ASSIGN(unknown_, read_id(header, "tokenizer.ggml.unknown_token_id"));
  KINGLET_ASSIGN(const TokenId eot, read_id(header, "tokenizer.ggml.eot_token_id"));
  KINGLET_ASSIGN(const TokenId eom, read_id(header, "tokenizer.ggml.eom_token_id"));
  for (const TokenId id : {eos_, eot, eom}) {
    if (id != kNoToken) tokens_[static_cast<size_t>(id)].ends_generation = true;
  }
  return read_further_ends(header);
}

Status Vocabulary::read_further_ends(const GgufHeader& header) {
  const MetadataValue* value = header.find(kEndsKey);
  const auto ids = value == nullptr ? std::nullopt : value->as_array();
  if (!ids) return {};
  Status status;
  ids->for_each([&](uint64_t, const MetadataValue& id) {
    const auto index = id.as_uint();
    if (index && *index < n_tokens()) {
      tokens_[static_cast<size_t>(*index)].ends_generation = true;
    } else {
      status = Error{ErrorCode::corrupt,
                     cat(kEndsKey, " lists what is no id of one of the ", n_tokens(), " tokens")};
    }
  });
  return status;
}

Status Vocabulary::read_flags(const GgufHeader& header, const VocabularyKind& kind) {
  KINGLET_ASSIGN(add_bos_, header.get_bool("tokenizer.ggml.add_bos_token", kind.add_bos));
  KINGLET_ASSIGN(add_eos_, header.get_bool("tokenizer.ggml.add_eos_token", false));
  KINGLET_ASSIGN(const bool add_space_prefix,
                 header.get_bool("tokenizer.ggml.add_space_prefix", true));
  add_space_prefix_ = add_space_prefix && kind.may_add_space_prefix;
  // Files do not tell; Phi-4, of the same architecture, has another kind of vocabulary.
  KINGLET_ASSIGN(const std::string_view architecture,
                 header.get_string("general.architecture", ""));
  marks_take_spaces_ = architecture == "phi3" && kind.may_add_space_prefix;
  return {};
}

void Vocabulary::build_index() {
  size_t n_slots = 2;
  while (n_slots < 2 * n_tokens()) n_slots *= 2;
  slots_.assign(n_slots, kNoToken);
  for (TokenId id = 0; id < size(); ++id) {
    if (type(id) != TokenType::normal || bytes(id).empty()) continue;
    max_normal_bytes_ = std::max(max_normal_bytes_, bytes(id).size());
    slots_[slot_of(bytes(id))] = id;
  }
}

size_t Vocabulary::slot_of(std::string_view wanted) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash(wanted) & mask;
  while (slots_[slot] != kNoToken && bytes(slots_[slot]) != wanted) slot = (slot + 1) & mask;
  return slot;
}

}  // namespace kinglet
