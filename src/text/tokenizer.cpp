#include "text/tokenizer.h"

#include "base/format.h"
#include "base/in_quotes.h"
#include "base/utf8.h"
#include "text/bpe_tokenizer.h"
#include "text/spm_tokenizer.h"
#include "text/unicode_table.h"
#include "text/unigram_tokenizer.h"
#include "text/wordpiece_tokenizer.h"

namespace kinglet {
namespace {

// Returns the first place at or after `from` that has no white space.
size_t skip_spaces(std::string_view text, size_t from) {
  while (from < text.size()) {
    const Utf8Char character = decode_utf8(text.substr(from));
    if ((UnicodeTable::get().traits(character.code_point) & trait::kSpace) == 0) break;
    from += character.n_bytes;
  }
  return from;
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::from_gguf(const GgufHeader& header) {
  constexpr std::string_view kModelKey = "tokenizer.ggml.model";
  if (header.find(kModelKey) == nullptr) {
    return Error{ErrorCode::missing_metadata,
                 cat("this file has no tokenizer: metadata \"", kModelKey, "\" is missing")};
  }
  KINGLET_ASSIGN(const std::string_view model, header.require_string(kModelKey));
  if (model == "llama") return SpmTokenizer::from_gguf(header);
  if (model == "gpt2" || model == "gemma4") return BpeTokenizer::from_gguf(header);
  if (model == "bert") return WordPieceTokenizer::from_gguf(header);
  if (model == "t5") return UnigramTokenizer::from_gguf(header);
  return Error{ErrorCode::unsupported_tokenizer,
               cat(kModelKey, " is ", in_quotes(model),
                   ", expected \"llama\", \"gpt2\", \"gemma4\", \"bert\" or \"t5\"")};
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, EncodeOptions options,
                                       std::span<const TextRange> plain) const {
  const TextRange whole = {0, text.size()};
  if (!options.parse_special) plain = {&whole, 1};
  std::vector<TokenId> ids;
  if (options.add_bos && vocabulary_.add_bos() && bos() != kNoToken) {
    const std::string_view spelled = vocabulary_.bytes(bos());
    const bool is_spelled = options.parse_special && text.starts_with(spelled) &&
                            (plain.empty() || plain.front().begin >= spelled.size());
    if (!is_spelled) ids.push_back(bos());
  }
  for (size_t from = 0; from < text.size() && !options.cancellation.requested();) {
    const AddedMatch match = added_tokens_.find(vocabulary_, text, from, plain);
    if (match.begin > from) {
      encode_plain(text.substr(from, match.begin - from), options.cancellation, ids);
    }
    if (match.id != kNoToken) ids.push_back(match.id);
    from = match.end;
    if (match.id != kNoToken && vocabulary_.takes_spaces_behind(match.id)) {
      from = skip_spaces(text, from);
    }
  }
  const TokenId end = vocabulary_.end_of_text();
  if (options.add_eos && vocabulary_.add_eos() && end != kNoToken) ids.push_back(end);
  return ids;
}

std::string_view Tokenizer::piece(TokenId id, bool special) const {
  if (!vocabulary_.contains(id)) return {};
  switch (vocabulary_.type(id)) {
    case TokenType::normal:
    case TokenType::user_defined:
    case TokenType::byte:
      return vocabulary_.bytes(id);
    case TokenType::control:
    case TokenType::unknown:
      return special ? vocabulary_.bytes(id) : std::string_view();
    case TokenType::unused:
      break;
  }
  return {};
}

const TokenIndex& Tokenizer::index() const {
  std::call_once(index_is_built_, [this] { index_.emplace(*this); });
  return *index_;
}

void Tokenizer::append_text(TokenId id, bool special, bool& at_start, std::string& out) const {
  std::string_view text = piece(id, special);
  const bool is_added = vocabulary_.contains(id) && vocabulary_.is_added(id);
  if (at_start && vocabulary_.add_space_prefix() && !is_added && text.starts_with(' ')) {
    text.remove_prefix(1);
  }
  out += text;
  at_start = is_added && vocabulary_.drops_later_prefixes();
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids, bool special) const {
  std::string text;
  bool at_start = true;
  for (const TokenId id : ids) {
    if (!vocabulary_.contains(id)) {
      return Error{ErrorCode::invalid_argument,
                   cat("token id ", id, " is out of range (vocabulary: ", n_tokens(), ")")};
    }
    append_text(id, special, at_start, text);
  }
  tidy(text);
  return text;
}

}  // namespace kinglet
