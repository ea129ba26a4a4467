#include "text/wordpiece_tokenizer.h"

#include <utility>

#include "base/format.h"
#include "base/utf8.h"
#include "text/character_map.h"
#include "text/unicode_table.h"

namespace kinglet {
namespace {

// Longer words are always unknown (max_input_chars_per_word of BERT's tokenizer).
constexpr size_t kMaxWordCharacters = 100;

void append_piece(std::string_view spelled, std::string& bytes) {
  constexpr std::string_view kWordStart = "\u2581";
  if (spelled.starts_with(kWordStart)) {
    bytes += ' ';
    spelled.remove_prefix(kWordStart.size());
  }
  bytes += spelled;
}

// Whether the character is a word of its own in BERT's tokenizer. Characters of other scripts that
// are written without spaces (Hiragana, Thai) are not.
bool is_ideograph(char32_t c) {
  constexpr CodePointRange kIdeographs[] = {
      {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
      {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f}};
  return is_in(kIdeographs, c);
}

// Whether the character is punctuation. Here this includes the symbols of ASCII.
bool is_mark_of_its_own(char32_t c, uint16_t traits) {
  const bool is_mark = (traits & trait::kPunctuation) != 0;
  return is_mark || (c < 0x80 && (traits & trait::kSymbol) != 0);
}

// Calls found(word, is_too_long) for each word of a text.
template <class F>
class WordCutter {
 public:
  explicit WordCutter(F found) : found_(std::move(found)) {}

  void add(char32_t c) {
    const uint16_t traits = UnicodeTable::get().traits(c);
    if ((traits & trait::kSpace) != 0) return end();
    const bool stands_alone = is_mark_of_its_own(c, traits) || is_ideograph(c);
    if (stands_alone) end();
    if (++n_characters_ <= kMaxWordCharacters) append_utf8(word_, c);
    if (stands_alone) end();
  }

  void end() {
    if (n_characters_ > 0) found_(word_, n_characters_ > kMaxWordCharacters);
    word_.clear();
    n_characters_ = 0;
  }

 private:
  F found_;
  std::string word_;  // at most its first kMaxWordCharacters characters
  size_t n_characters_ = 0;
};

// Removes the characters of `text` for which `is_superfluous(text, i)` is true.
template <class F>
void remove_if(std::string& text, F is_superfluous) {
  std::string kept;
  kept.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (!is_superfluous(std::string_view(text), i)) kept += text[i];
  }
  text = std::move(kept);
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> WordPieceTokenizer::from_gguf(const GgufHeader& header) {
  constexpr VocabularyKind kKind = {.append_bytes = append_piece,
                                    .add_bos = true,
                                    .bos = 101,
                                    .unknown = 100,
                                    .separator = 102,
                                    .ends_with_separator = true};
  KINGLET_ASSIGN(auto vocabulary, Vocabulary::from_gguf(header, kKind));
  if (vocabulary.unknown() == kNoToken) {
    return Error{ErrorCode::missing_metadata,
                 cat("the vocabulary of ", vocabulary.size(),
                     " tokens has no unknown token: tokenizer.ggml.unknown_token_id is missing")};
  }
  KINGLET_ASSIGN(const bool lowercase,
                 header.get_bool("tokenizer.ggml.normalizer.lowercase", true));
  KINGLET_ASSIGN(const bool strip_accents,
                 header.get_bool("tokenizer.ggml.normalizer.strip_accents", lowercase));
  const Normalizer normalizer = {lowercase, strip_accents};
  return std::unique_ptr<Tokenizer>(new WordPieceTokenizer(std::move(vocabulary), normalizer));
}

WordPieceTokenizer::WordPieceTokenizer(Vocabulary read, Normalizer normalizer)
    : Tokenizer(std::move(read)),
      normalizer_(normalizer),
      trie_(vocabulary(), append_piece),
      word_start_(trie_.child(TokenTrie::kRoot, ' ')) {}

void WordPieceTokenizer::encode_plain(std::string_view text, const Cancellation& cancellation,
                                      std::vector<TokenId>& ids) const {
  WordCutter words([&](std::string_view word, bool is_too_long) {
    if (is_too_long || word_start_ == TokenTrie::kNone) {
      ids.push_back(vocabulary().unknown());
    } else {
      append_pieces(word, ids);
    }
  });
  std::u32string parts;
  std::u32string letters;
  while (!text.empty() && !cancellation.requested()) {
    const Utf8Char character = decode_utf8(text);
    text.remove_prefix(character.n_bytes);
    const char32_t c = character.code_point;
    const bool is_control = (UnicodeTable::get().traits(c) & trait::kControl) != 0;
    if (is_control || c == kReplacementCharacter) continue;
    parts.assign(1, c);
    if (normalizer_.strip_accents) {
      letters.clear();
      append_without_accents(c, letters);
      parts.swap(letters);
    }
    if (normalizer_.lowercase) {
      letters.clear();
      for (const char32_t part : parts) append_lower_case(part, letters);
      parts.swap(letters);
    }
    for (const char32_t part : parts) words.add(part);
  }
  words.end();
}

void WordPieceTokenizer::append_pieces(std::string_view word, std::vector<TokenId>& ids) const {
  const size_t n_before = ids.size();
  TokenTrie::Node from = word_start_;
  do {
    const Piece piece = longest_piece(from, word);
    if (piece.id == kNoToken) {
      ids.resize(n_before);
      ids.push_back(vocabulary().unknown());
      return;
    }
    ids.push_back(piece.id);
    word.remove_prefix(piece.n_bytes);
    from = TokenTrie::kRoot;
  } while (!word.empty());
}

WordPieceTokenizer::Piece WordPieceTokenizer::longest_piece(TokenTrie::Node from,
                                                            std::string_view word) const {
  Piece longest = {kNoToken, 0};
  for (size_t i = 0; i < word.size(); ++i) {
    from = trie_.child(from, word[i]);
    if (from == TokenTrie::kNone) break;
    if (trie_.token(from) != kNoToken) longest = {trie_.token(from), i + 1};
  }
  return longest;
}

void WordPieceTokenizer::tidy(std::string& text) const {
  const auto at = [](std::string_view whole, size_t i) {
    return i < whole.size() ? whole[i] : '\0';
  };
  remove_if(text, [&](std::string_view whole, size_t i) {
    const char next = at(whole, i + 1);
    return whole[i] == ' ' && (next == '?' || next == '!' || next == '.' || next == ',');
  });
  size_t removed_until = 0;  // after the last lone apostrophe and its spaces
  remove_if(text, [&](std::string_view whole, size_t i) {
    if (i < removed_until) return whole[i] == ' ';
    const bool is_lone = whole.substr(i, 3) == " ' ";
    if (is_lone) removed_until = i + 3;
    return is_lone;
  });
  remove_if(text, [&](std::string_view whole, size_t i) {
    if (whole[i] != ' ' || at(whole, i + 1) != '\'') return false;
    const char first = at(whole, i + 2);
    const bool is_longer = (first == 'r' || first == 'v') && at(whole, i + 3) == 'e';
    return first == 's' || first == 'm' || is_longer;
  });
}

}  // namespace kinglet
