#include "text/unigram_tokenizer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/format.h"
#include "base/utf8.h"
#include "text/spelled_space.h"

namespace kinglet {
namespace {

// How much lower an unknown character scores than the worst token (SentencePiece's kUnkPenalty).
constexpr float kUnknownPenalty = 10;

// Returns the size of the character at the front of `text`, according to its first byte.
size_t character_bytes(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text.front());
  const size_t n_bytes = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  return std::min(n_bytes, text.size());
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> UnigramTokenizer::from_gguf(const GgufHeader& header) {
  constexpr VocabularyKind kKind = {.append_bytes = append_unescaped,
                                    .add_eos = true,
                                    .eos = 1,
                                    .unknown = 2,
                                    .may_add_space_prefix = true};
  KINGLET_ASSIGN(auto vocabulary, Vocabulary::from_gguf(header, kKind));
  KINGLET_TRY(header.require_array("tokenizer.ggml.scores", ValueType::float32));
  if (vocabulary.unknown() == kNoToken) {
    return Error{ErrorCode::missing_metadata,
                 cat("the vocabulary of ", vocabulary.size(),
                     " tokens has no unknown token: tokenizer.ggml.unknown_token_id is missing")};
  }
  KINGLET_ASSIGN(auto charsmap, Charsmap::from_gguf(header));
  KINGLET_ASSIGN(const bool merges_spaces,
                 header.get_bool("tokenizer.ggml.remove_extra_whitespaces", false));
  return std::unique_ptr<Tokenizer>(
      new UnigramTokenizer(std::move(vocabulary), std::move(charsmap), merges_spaces));
}

UnigramTokenizer::UnigramTokenizer(Vocabulary read, Charsmap charsmap, bool merges_spaces)
    : Tokenizer(std::move(read)),
      charsmap_(std::move(charsmap)),
      merges_spaces_(merges_spaces),
      trie_(vocabulary(), append_unescaped) {
  float lowest = std::numeric_limits<float>::max();
  std::string bytes;
  for (TokenId id = 0; id < vocabulary().size(); ++id) {
    if (vocabulary().type(id) == TokenType::normal) {
      lowest = std::min(lowest, vocabulary().score(id));
    }
    bytes.clear();
    append_unescaped(vocabulary().bytes(id), bytes);
    neighbours_.add(bytes);
  }
  unknown_score_ = lowest - kUnknownPenalty;
}

// If spaces are added, a text after an added token gets one in front, like a text at the start.
std::string UnigramTokenizer::normalize(std::string_view text) const {
  std::string out;
  out.reserve(text.size() + 1);
  bool is_in_word = false;
  bool needs_prefix = vocabulary().add_space_prefix();
  const auto add = [&](char c) {
    if (c == ' ') {
      is_in_word = false;
      if (!merges_spaces_) out += ' ';
      return;
    }
    if (!is_in_word && (needs_prefix || merges_spaces_)) {
      out += ' ';
      needs_prefix = false;
    }
    is_in_word = true;
    out += c;
  };
  while (!text.empty()) {
    const Charsmap::Match match = charsmap_.find(text);
    size_t n_bytes = match.n_bytes;
    std::string_view replacement = match.replacement;
    if (n_bytes == 0) {
      const Utf8Char character = decode_utf8(text);
      const bool is_whole = character.state == Utf8State::well_formed;
      n_bytes = is_whole ? character.n_bytes : 1;
      replacement = is_whole ? text.substr(0, n_bytes) : "\ufffd";
    }
    for (const char c : replacement) add(c);
    text.remove_prefix(n_bytes);
  }
  return out;
}

void UnigramTokenizer::encode_plain(std::string_view text, const Cancellation& cancellation,
                                    std::vector<TokenId>& ids) const {
  std::string normalized;
  append_unescaped(normalize(text), normalized);
  const std::string_view whole = normalized;
  const size_t first = ids.size();
  std::vector<Best> bests;
  size_t begin = 0;
  for (size_t at = 0; at < whole.size() && !cancellation.requested();) {
    at += character_bytes(whole.substr(at));
    if (at < whole.size() && neighbours_.has(whole[at - 1], whole[at])) continue;
    append_best(whole.substr(begin, at - begin), first, bests, ids);
    begin = at;
  }
}

void UnigramTokenizer::append_best(std::string_view part, size_t first, std::vector<Best>& bests,
                                   std::vector<TokenId>& ids) const {
  const TokenId unknown = vocabulary().unknown();
  bests.assign(part.size() + 1, {std::numeric_limits<double>::lowest(), 0, unknown});
  bests[0].score = 0;
  const auto consider = [&bests](size_t begin, size_t end, TokenId id, double score) {
    const double sum = bests[begin].score + score;
    if (sum > bests[end].score) bests[end] = {sum, static_cast<uint32_t>(begin), id};
  };
  for (size_t begin = 0; begin < part.size();) {
    const size_t next = begin + character_bytes(part.substr(begin));
    bool is_known = false;
    TokenTrie::Node node = TokenTrie::kRoot;
    for (size_t end = begin; end < part.size();) {
      node = trie_.child(node, part[end++]);
      if (node == TokenTrie::kNone) break;
      const TokenId id = trie_.token(node);
      if (id == kNoToken) continue;
      const bool is_user_defined = vocabulary().type(id) == TokenType::user_defined;
      consider(begin, end, id, is_user_defined ? 0 : vocabulary().score(id));
      is_known = is_known || end == next;
    }
    if (!is_known) consider(begin, next, unknown, unknown_score_);
    begin = next;
  }

  const size_t n_before = ids.size();
  for (size_t end = part.size(); end > 0; end = bests[end].last_begin) {
    ids.push_back(bests[end].last);
  }
  std::reverse(ids.begin() + static_cast<std::ptrdiff_t>(n_before), ids.end());
  const auto from = ids.begin() + static_cast<std::ptrdiff_t>(std::max(first + 1, n_before) - 1);
  ids.erase(std::unique(from, ids.end(),
                        [=](TokenId a, TokenId b) { return a == unknown && b == unknown; }),
            ids.end());
}

}  // namespace kinglet
