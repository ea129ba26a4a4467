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

// Lists of names are one text each, with a space around every name: a page downloads them.

// Tokens that end a turn in the chat formats of model families whose files often declare only
// their eos, as llama.cpp knows them. The spellings are too odd to be anything else, whatever type
// the file gives them.
constexpr std::string_view kEndsOfTurn =
    " </s>"                   // Llama 2, Mistral; Phi-3, whose eos is another one
    " <eos>"                  // Gemma
    " <|im_end|>"             // ChatML: Qwen, SmolLM, Hermes
    " <|eot_id|>"             // Llama 3
    " <|eom_id|>"             // Llama 3.1, before a tool's answer
    " <end_of_turn>"          // Gemma
    " <turn|>"                // Gemma 4
    " <|tool_response>"       // ... before a tool's answer
    " <|end|>"                // Phi-3
    " <|endoftext|>"          // GPT-2, Qwen, Phi
    " <|end_of_text|>"        // Llama 3, Granite
    " <｜end▁of▁sentence｜>"  // DeepSeek
    " <EOT>"                  // Code Llama
    " ▁<EOT>"                 // ... with the mark of a space
    " _<EOT>"                 // ... in some of its files
    " [EOT]"                  // Kimi
    " [EOS]"                  // ... at the end of a text
    " [e~["                   // MiniMax
    " <end_of_utterance>"     // SmolVLM
    " <|return|>"             // o200k, in the format of gpt-oss
    " <|call|>"               // ... before a tool's answer
    " <|flush|>"              // Solar
    " <|calls|> ";            // ... before a tool's answer

// Marks around code, by their parts: a text with a gap, files of a repository. A file that gives
// the id of a part means that token and no other; in one that gives none the names are marks of
// structure, whatever type it gives them.
struct CodeMark {
  std::string_view key;      // of the id: tokenizer.ggml.<key>_token_id
  std::string_view old_key;  // of the same
  bool ends_generation;      // what comes behind is padding, or another file
  std::string_view names;
};
constexpr CodeMark kCodeMarks[] = {
    {"fim_pre", "prefix", false,
     " <|fim_prefix|> <fim-prefix> <fim_prefix> <｜fim▁begin｜> <PRE> ▁<PRE> <|code_prefix|>"
     " <|prefix|> "},
    {"fim_suf", "suffix", false,
     " <|fim_suffix|> <fim-suffix> <fim_suffix> <｜fim▁hole｜> <SUF> ▁<SUF> <|code_suffix|>"
     " <|suffix|> "},
    {"fim_mid", "middle", false,
     " <|fim_middle|> <fim-middle> <fim_middle> <｜fim▁end｜> <MID> ▁<MID> <|code_middle|>"
     " <|middle|> "},
    {"fim_pad", "fim_pad", true, " <|fim_pad|> <fim-pad> <fim_pad> <PAD> [PAD] "},
    {"fim_rep", "fim_rep", true, " <|fim_repo|> <|repo_name|> <fim-repo> <REPO> <reponame> "},
    {"fim_sep", "fim_sep", true, " <|file_sep|> "},
};

bool has(std::string_view names, std::string_view text) {
  size_t at = text.find(' ') == std::string_view::npos ? names.find(text) : std::string_view::npos;
  while (at != std::string_view::npos && (names[at - 1] != ' ' || names[at + text.size()] != ' ')) {
    at = names.find(text, at + 1);
  }
  return at != std::string_view::npos;
}

std::string id_key(std::string_view part) { return cat("tokenizer.ggml.", part, "_token_id"); }

// The part that a token of this name plays where `header` gives no id for it, or null.
const CodeMark* find_code_mark(const GgufHeader& header, std::string_view text) {
  for (const CodeMark& mark : kCodeMarks) {
    if (!has(mark.names, text)) continue;
    const bool has_id =
        header.find(id_key(mark.key)) != nullptr || header.find(id_key(mark.old_key)) != nullptr;
    return has_id ? nullptr : &mark;
  }
  return nullptr;
}

// Most tokens are words, for which no list has to be looked through.
bool may_be_mark(std::string_view text) {
  return text.starts_with('<') || text.starts_with('[') || text.starts_with("▁<") ||
         text.starts_with("_<");
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
  KINGLET_TRY(vocabulary.read_texts(header, texts, kind));
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

Status Vocabulary::read_texts(const GgufHeader& header, const MetadataArray& texts,
                              const VocabularyKind& kind) {
  Status status;
  byte_tokens_.fill(kNoToken);
  texts.for_each([&](uint64_t i, const MetadataValue& value) {
    const std::string_view text = *value.as_string();
    Token& token = tokens_[static_cast<size_t>(i)];
    token.begin = static_cast<uint32_t>(bytes_.size());
    if (may_be_mark(text)) mark_by_name(header, text, token);
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

void Vocabulary::mark_by_name(const GgufHeader& header, std::string_view text, Token& token) {
  const CodeMark* mark = find_code_mark(header, text);
  const bool ends_turn = has(kEndsOfTurn, text);
  if (mark == nullptr && !ends_turn) return;
  token.type = TokenType::control;
  token.ends_generation = ends_turn || mark->ends_generation;
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
  for (const TokenId id : {eos_, eot, eom}) set_end(id);
  for (const CodeMark& mark : kCodeMarks) {
    if (!mark.ends_generation) continue;
    KINGLET_ASSIGN(const TokenId id, read_id(header, id_key(mark.key)));
    set_end(id);
  }
  unset_ends_of_parts();
  return read_further_ends(header);
}

void Vocabulary::set_end(TokenId id) {
  if (id != kNoToken) tokens_[static_cast<size_t>(id)].ends_generation = true;
}

// Where an answer has several parts, what ends turns elsewhere may end only one of them.
void Vocabulary::unset_ends_of_parts() {
  const auto find_end = [this](std::string_view name) {
    TokenId id = 0;
    while (id < size() && !(is_end_of_generation(id) && bytes(id) == name)) ++id;
    return id < size() ? id : kNoToken;
  };
  const auto unset = [&](std::string_view name, TokenType type) {
    const TokenId id = find_end(name);
    if (id == kNoToken) return;
    tokens_[static_cast<size_t>(id)].type = type;
    tokens_[static_cast<size_t>(id)].ends_generation = false;
  };
  const auto ends = [&](std::string_view name) { return find_end(name) != kNoToken; };
  // gpt-oss, Solar: a thought ends with it, too.
  if ((ends("<|call|>") || ends("<|calls|>")) && (ends("<|return|>") || ends("<|flush|>"))) {
    unset("<|end|>", TokenType::user_defined);
  }
  // Gemma 4, whose vocabulary has it for a tag of HTML.
  if (ends("<|tool_response>")) unset("</s>", TokenType::normal);
}

Status Vocabulary::read_further_ends(const GgufHeader& header) {
  const MetadataValue* value = header.find(kEndsKey);
  const auto ids = value == nullptr ? std::nullopt : value->as_array();
  if (!ids) return {};
  Status status;
  ids->for_each([&](uint64_t, const MetadataValue& id) {
    const auto index = id.as_uint();
    if (index && *index < n_tokens()) {
      set_end(static_cast<TokenId>(*index));
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
