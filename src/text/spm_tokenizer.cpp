#include "text/spm_tokenizer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/format.h"
#include "base/utf8.h"
#include "text/merger.h"
#include "text/spelled_space.h"

namespace kinglet {
namespace {

// Any two adjacent symbols that form a token may merge; the token with the highest score comes
// first. A merge has the number of the token it makes.
class ScoreRule {
 public:
  explicit ScoreRule(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  uint32_t find(std::string_view text, const Symbol& left, const Symbol& right) const {
    const size_t n_bytes = size_t{left.n_bytes} + right.n_bytes;
    if (n_bytes > vocabulary_.max_normal_bytes()) return kNoMerge;
    return static_cast<uint32_t>(vocabulary_.find(text.substr(left.begin, n_bytes)));
  }
  float priority(uint32_t merge) const { return vocabulary_.score(result(merge)); }
  TokenId result(uint32_t merge) const { return static_cast<TokenId>(merge); }

 private:
  const Vocabulary& vocabulary_;
};
static_assert(static_cast<uint32_t>(kNoToken) == kNoMerge);

}  // namespace

Result<std::unique_ptr<Tokenizer>> SpmTokenizer::from_gguf(const GgufHeader& header) {
  // The default ids are those of Llama 2, and llama.cpp's.
  constexpr VocabularyKind kKind = {.append_bytes = append_unescaped,
                                    .add_bos = true,
                                    .add_space_prefix = true,
                                    .bos = 1,
                                    .eos = 2,
                                    .may_add_space_prefix = true,
                                    .drops_later_prefixes = true};
  KINGLET_ASSIGN(auto vocabulary, Vocabulary::from_gguf(header, kKind));
  KINGLET_TRY(header.require_array("tokenizer.ggml.scores", ValueType::float32));
  if (!vocabulary.has_all_bytes() && vocabulary.unknown() == kNoToken) {
    return Error{ErrorCode::missing_metadata,
                 "the vocabulary has neither all byte tokens (<0x00> to <0xFF>) nor "
                 "tokenizer.ggml.unknown_token_id"};
  }
  return std::unique_ptr<Tokenizer>(new SpmTokenizer(std::move(vocabulary)));
}

SpmTokenizer::SpmTokenizer(Vocabulary read) : Tokenizer(std::move(read)) {
  for (TokenId id = 0; id < vocabulary().size(); ++id) {
    if (vocabulary().type(id) == TokenType::normal) neighbours_.add(vocabulary().bytes(id));
  }
}

// Such a vocabulary has one spelling for both a space and U+2581, so in a text they are the same.
//
// Merges run over a whole text, not over words. But no merge can cross a place between two bytes
// that are not adjacent inside any token, so the text is cut there: mostly into words, whose short
// queues stay in the processor's cache.
void SpmTokenizer::encode_plain(std::string_view text, const Cancellation& cancellation,
                                std::vector<TokenId>& ids) const {
  std::string prefixed = vocabulary().add_space_prefix() ? " " : "";
  append_unescaped(text, prefixed);
  const std::string_view whole = prefixed;

  Merger<ScoreRule> merger(ScoreRule(vocabulary()), cancellation);
  size_t begin = 0;  // where the part begins that the merger holds
  for (size_t at = 0; at < whole.size() && !cancellation.requested();) {
    const Utf8Char character = decode_utf8(whole.substr(at));
    const bool is_whole = character.state == Utf8State::well_formed;
    const std::string_view symbol = whole.substr(at, is_whole ? character.n_bytes : 1);
    merger.add(vocabulary().find(symbol), symbol.size());
    at += symbol.size();
    if (at < whole.size() && neighbours_.has(whole[at - 1], whole[at])) continue;
    merger.run(whole.substr(begin, at - begin), [&](std::string_view part, TokenId id) {
      if (id != kNoToken) {
        ids.push_back(id);
      } else {
        append_unknown(part, ids);
      }
    });
    begin = at;
  }
}

void SpmTokenizer::append_unknown(std::string_view character, std::vector<TokenId>& ids) const {
  const auto byte_token = [this](char c) {
    return vocabulary().byte_token(static_cast<uint8_t>(c));
  };
  // Bytes of a part of a character would not be text.
  const bool has_bytes = std::all_of(character.begin(), character.end(),
                                     [&](char c) { return byte_token(c) != kNoToken; });
  if (has_bytes) {
    for (const char c : character) ids.push_back(byte_token(c));
  } else {
    ids.push_back(vocabulary().unknown());
  }
}

}  // namespace kinglet
