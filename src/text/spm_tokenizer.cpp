#include "text/spm_tokenizer.h"

#include <queue>
#include <string>

#include "base/format.h"
#include "text/utf8.h"

namespace kinglet {
namespace {

constexpr std::string_view kSpelledSpace = "\u2581";

void append_unescaped(std::string_view spelled, std::string& bytes) {
  for (size_t at = 0; at < spelled.size();) {
    const size_t space = spelled.find(kSpelledSpace, at);
    bytes += spelled.substr(at, space - at);
    if (space == std::string_view::npos) break;
    bytes += ' ';
    at = space + kSpelledSpace.size();
  }
}

constexpr uint32_t kNone = UINT32_MAX;

// A piece of the text, in a list of all of them; without bytes once its left neighbour took it.
struct Symbol {
  uint32_t begin;
  uint32_t n_bytes;
  uint32_t previous;
  uint32_t next;
};

// Two neighbours that make a token.
struct Merge {
  float score;
  uint32_t left;
  uint32_t right;
  uint32_t n_bytes;  // of both; tells a merge whose symbols have changed since

  // The highest score first, of equals the leftmost.
  bool operator<(const Merge& other) const {
    return score != other.score ? score < other.score : left > other.left;
  }
};

// Merges a text's characters into tokens: of all neighbours that make a token, those of the highest
// score, until none do.
class Merger {
 public:
  Merger(const Vocabulary& vocabulary, std::string_view text)
      : vocabulary_(vocabulary), text_(text) {
    split_characters();
    for (uint32_t i = 1; i < symbols_.size(); ++i) offer(i - 1, i);
  }

  void run() {
    while (!merges_.empty()) {
      const Merge merge = merges_.top();
      merges_.pop();
      if (is_current(merge)) apply(merge);
    }
  }

  // Calls f(text) for each symbol, in order.
  template <class F>
  void for_each(F f) const {
    for (uint32_t i = 0; i != kNone; i = symbols_[i].next) {
      f(text_.substr(symbols_[i].begin, symbols_[i].n_bytes));
    }
  }

 private:
  void split_characters() {
    uint32_t begin = 0;
    while (begin < text_.size()) {
      const Utf8Char character = decode_utf8(text_.substr(begin));
      const bool whole = character.state == Utf8State::well_formed;
      const auto n_bytes = static_cast<uint32_t>(whole ? character.n_bytes : 1);
      const auto i = static_cast<uint32_t>(symbols_.size());
      symbols_.push_back({begin, n_bytes, i == 0 ? kNone : i - 1, i + 1});
      begin += n_bytes;
    }
    symbols_.back().next = kNone;
  }

  // Puts the two symbols, neighbours both, in line if they make a token.
  void offer(uint32_t left, uint32_t right) {
    const uint32_t n_bytes = symbols_[left].n_bytes + symbols_[right].n_bytes;
    if (n_bytes > vocabulary_.max_normal_bytes()) return;
    const TokenId id = vocabulary_.find(text_.substr(symbols_[left].begin, n_bytes));
    if (id != kNoToken) merges_.push({vocabulary_.score(id), left, right, n_bytes});
  }

  bool is_current(const Merge& merge) const {
    const uint32_t left = symbols_[merge.left].n_bytes;
    const uint32_t right = symbols_[merge.right].n_bytes;
    return left != 0 && right != 0 && left + right == merge.n_bytes;
  }

  void apply(const Merge& merge) {
    Symbol& left = symbols_[merge.left];
    Symbol& right = symbols_[merge.right];
    left.n_bytes = merge.n_bytes;
    left.next = right.next;
    right.n_bytes = 0;
    if (left.previous != kNone) offer(left.previous, merge.left);
    if (left.next != kNone) {
      symbols_[left.next].previous = merge.left;
      offer(merge.left, left.next);
    }
  }

  const Vocabulary& vocabulary_;
  std::string_view text_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Merge> merges_;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> SpmTokenizer::from_gguf(const GgufHeader& header) {
  constexpr VocabularyKind kKind = {
      .append_bytes = append_unescaped, .add_bos = true, .add_space_prefix = true};
  KINGLET_ASSIGN(auto vocabulary, Vocabulary::from_gguf(header, kKind));
  KINGLET_TRY(header.require_array("tokenizer.ggml.scores", ValueType::float32));
  if (!vocabulary.has_all_bytes() && vocabulary.unknown() == kNoToken) {
    return Error{ErrorCode::missing_metadata,
                 "the vocabulary lacks byte tokens: expected <0x00> to <0xFF>, or "
                 "tokenizer.ggml.unknown_token_id"};
  }
  return std::unique_ptr<Tokenizer>(new SpmTokenizer(std::move(vocabulary)));
}

void SpmTokenizer::encode_plain(std::string_view text, std::vector<TokenId>& ids) const {
  std::string prefixed = vocabulary().add_space_prefix() ? " " : "";
  prefixed += text;
  Merger merger(vocabulary(), prefixed);
  merger.run();
  merger.for_each([&](std::string_view symbol) { append_ids(symbol, ids); });
}

// A symbol is a token, or a character that the vocabulary does not have.
void SpmTokenizer::append_ids(std::string_view symbol, std::vector<TokenId>& ids) const {
  if (const TokenId id = vocabulary().find(symbol); id != kNoToken) {
    ids.push_back(id);
  } else if (vocabulary().has_all_bytes()) {
    for (const char c : symbol) ids.push_back(vocabulary().byte_token(static_cast<uint8_t>(c)));
  } else {
    ids.push_back(vocabulary().unknown());
  }
}

}  // namespace kinglet
