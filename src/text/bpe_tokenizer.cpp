#include "text/bpe_tokenizer.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/format.h"
#include "base/in_quotes.h"
#include "base/utf8.h"
#include "text/merger.h"
#include "text/spelled_space.h"

namespace kinglet {
namespace {

constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
constexpr std::string_view kPreKey = "tokenizer.ggml.pre";

// Returns the byte that a character spells. Printable bytes of Latin-1 spell themselves; the other
// 68 are spelled with the characters from U+0100 on.
std::optional<uint8_t> spelled_byte(char32_t character) {
  if (character < 0x100) {
    const bool is_printable =
        (character > 0x20 && character < 0x7f) || (character > 0xa0 && character != 0xad);
    if (!is_printable) return std::nullopt;
    return static_cast<uint8_t>(character);
  }
  const char32_t rank = character - 0x100;
  if (rank <= 0x20) return static_cast<uint8_t>(rank);
  if (rank < 0x43) return static_cast<uint8_t>(rank - 0x21 + 0x7f);
  if (rank == 0x43) return uint8_t{0xad};
  return std::nullopt;
}

// Whether `c` is printable ASCII, which most tokens consist of.
bool spells_itself(char c) { return c > 0x20 && c < 0x7f; }

// A character that spells no byte stands for itself.
void append_spelled(std::string_view spelled, std::string& bytes) {
  while (true) {
    const auto n_plain = static_cast<size_t>(
        std::find_if_not(spelled.begin(), spelled.end(), spells_itself) - spelled.begin());
    bytes += spelled.substr(0, n_plain);
    spelled.remove_prefix(n_plain);
    if (spelled.empty()) return;
    const Utf8Char character = decode_utf8(spelled);
    if (const auto byte = spelled_byte(character.code_point)) {
      bytes += static_cast<char>(*byte);
    } else {
      bytes += spelled.substr(0, character.n_bytes);
    }
    spelled.remove_prefix(character.n_bytes);
  }
}

// Returns the first character of `text`; the first byte if it is not valid UTF-8.
std::string_view first_character(std::string_view text) {
  const Utf8Char character = decode_utf8(text);
  return text.substr(0, character.state == Utf8State::well_formed ? character.n_bytes : 1);
}

}  // namespace

// Tokens merge in the order of the file's list. A merge's number is its place in the list.
class BpeTokenizer::RankRule {
 public:
  explicit RankRule(const BpeTokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  uint32_t find(std::string_view, const Symbol& left, const Symbol& right) const {
    return tokenizer_->slots_[tokenizer_->slot_of(left.id, right.id)] - 1;
  }
  // A float is exact here: no list has as many as 2^24 merges.
  float priority(uint32_t merge) const { return -static_cast<float>(merge); }
  TokenId result(uint32_t merge) const { return tokenizer_->merges_[merge].id; }

 private:
  const BpeTokenizer* tokenizer_;
};

Result<std::unique_ptr<Tokenizer>> BpeTokenizer::from_gguf(const GgufHeader& header) {
  KINGLET_ASSIGN(std::string_view pre, header.get_string(kPreKey, "default"));
  KINGLET_ASSIGN(const std::string_view model, header.get_string("tokenizer.ggml.model", ""));
  if (model == "gemma4") pre = model;
  const Pretokenizer* pretokenizer = find_pretokenizer(pre);
  if (pretokenizer == nullptr) {
    return Error{ErrorCode::unsupported_tokenizer,
                 cat(kPreKey, " is ", in_quotes(pre), ", a pre-tokenizer that is not implemented")};
  }
  const bool of_characters = pretokenizer->merges_characters;
  const VocabularyKind kind = {.append_bytes = of_characters ? append_unescaped : append_spelled,
                               .add_bos = pretokenizer->add_bos,
                               .always_adds_bos = of_characters,
                               .adds_separator = pretokenizer->adds_separator};
  KINGLET_ASSIGN(auto vocabulary, Vocabulary::from_gguf(header, kind));
  std::unique_ptr<BpeTokenizer> tokenizer(new BpeTokenizer(std::move(vocabulary), *pretokenizer));
  KINGLET_TRY(tokenizer->read_merges(header, kind));
  return std::unique_ptr<Tokenizer>(std::move(tokenizer));
}

BpeTokenizer::BpeTokenizer(Vocabulary read, const Pretokenizer& pretokenizer)
    : Tokenizer(std::move(read)), pretokenizer_(&pretokenizer) {
  for (size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const auto c = static_cast<char>(byte);
    byte_ids_[byte] = pretokenizer.merges_characters
                          ? vocabulary().byte_token(static_cast<uint8_t>(byte))
                          : vocabulary().find(std::string_view(&c, 1));
  }
  if (!pretokenizer.merges_characters) return;
  for (TokenId id = 0; id < vocabulary().size(); ++id) {
    if (vocabulary().type(id) == TokenType::normal) neighbours_.add(vocabulary().bytes(id));
  }
}

Status BpeTokenizer::read_merges(const GgufHeader& header, const VocabularyKind& kind) {
  KINGLET_ASSIGN(const auto lines, header.require_array(kMergesKey, ValueType::string));
  merges_.reserve(static_cast<size_t>(lines.size()));
  Status status;
  std::string bytes;        // of both parts; out here, because the loop runs up to 300,000 times
  TokenId last = kNoToken;  // most vocabularies are in the order of their merges
  lines.for_each([&](uint64_t rank, const MetadataValue& value) {
    const std::string_view line = *value.as_string();
    const size_t space = line.find(' ');
    if (space == 0 || space >= line.size() - 1) {
      status = Error{ErrorCode::corrupt, cat(kMergesKey, " has ", in_quotes(line), " at ", rank,
                                             ", expected two tokens separated by a space")};
      return;
    }
    bytes.clear();
    kind.append_bytes(line.substr(0, space), bytes);
    const size_t n_left = bytes.size();
    kind.append_bytes(line.substr(space + 1), bytes);
    const std::string_view whole = bytes;
    const Merge merge = {vocabulary().find(whole.substr(0, n_left)),
                         vocabulary().find(whole.substr(n_left)),
                         vocabulary().find(whole, last + 1)};
    last = merge.id;
    // A merge that names an added token, or text that is not a token, could never happen.
    if (merge.left == kNoToken || merge.right == kNoToken || merge.id == kNoToken) return;
    merges_.push_back(merge);
  });
  build_index();
  return status;
}

void BpeTokenizer::build_index() {
  size_t n_slots = 2;
  while (n_slots < merges_.size() + merges_.size() / 2 + 1) n_slots *= 2;
  slots_.assign(n_slots, 0);
  for (uint32_t rank = 0; rank < merges_.size(); ++rank) {
    uint32_t& slot = slots_[slot_of(merges_[rank].left, merges_[rank].right)];
    if (slot == 0) slot = rank + 1;  // of several equal merges, the first one counts
  }
}

size_t BpeTokenizer::slot_of(TokenId left, TokenId right) const {
  // The odd constant is 2^64 / golden ratio: its multiples spread over the upper bits (Knuth).
  const uint64_t pair = uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  const size_t mask = slots_.size() - 1;
  size_t slot = static_cast<size_t>((pair * 0x9e3779b97f4a7c15u) >> 32) & mask;
  const auto is_other = [&](const Merge& merge) {
    return merge.left != left || merge.right != right;
  };
  while (slots_[slot] != 0 && is_other(merges_[slots_[slot] - 1])) slot = (slot + 1) & mask;
  return slot;
}

// In character-level BPE, words (mostly lines) are cut further, between two bytes that are not
// adjacent inside any token. No merge crosses such a place, and short queues stay in the
// processor's cache.
void BpeTokenizer::encode_plain(std::string_view text, const Cancellation& cancellation,
                                std::vector<TokenId>& ids) const {
  Merger<RankRule> merger(RankRule(*this), cancellation);
  const bool of_characters = pretokenizer_->merges_characters;
  const auto append = [&](std::string_view part, TokenId id) {
    if (id != kNoToken) return ids.push_back(id);
    for (const char c : part) {
      const TokenId of_byte = byte_ids_[static_cast<uint8_t>(c)];
      if (of_byte != kNoToken) ids.push_back(of_byte);
    }
  };
  std::string unescaped;
  if (of_characters) {
    append_unescaped(text, unescaped);
    text = unescaped;
  }
  size_t begin = 0;
  for (const uint32_t n_bytes : split_words(*pretokenizer_, text)) {
    if (cancellation.requested()) return;
    const std::string_view word = text.substr(begin, n_bytes);
    begin += n_bytes;
    if (pretokenizer_->prefers_whole_words || (of_characters && word.front() == '\n')) {
      if (const TokenId id = vocabulary().find(word); id != kNoToken) {
        ids.push_back(id);
        continue;
      }
    }
    size_t first = 0;  // where the part begins that the merger holds
    for (size_t at = 0; at < word.size();) {
      const std::string_view rest = word.substr(at);
      const std::string_view symbol = of_characters ? first_character(rest) : rest.substr(0, 1);
      merger.add(
          of_characters ? vocabulary().find(symbol) : byte_ids_[static_cast<uint8_t>(rest[0])],
          symbol.size());
      at += symbol.size();
      if (at < word.size() && (!of_characters || neighbours_.has(word[at - 1], word[at]))) continue;
      merger.run(word.substr(first, at - first), append);
      first = at;
    }
  }
}

}  // namespace kinglet
