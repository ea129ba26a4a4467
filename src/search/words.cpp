#include "search/words.h"

#include <algorithm>
#include <string>

#include "base/hash.h"
#include "base/utf8.h"
#include "text/character_map.h"
#include "text/unicode_table.h"

namespace kinglet {
namespace {

// Scripts without space between words, by the blocks of the Unicode Standard.
constexpr CodePointRange kUnspaced[] = {
    {0x0e00, 0x0eff},    // Thai, Lao
    {0x1000, 0x109f},    // Myanmar
    {0x1780, 0x17ff},    // Khmer
    {0x3040, 0x30ff},    // Hiragana, Katakana
    {0x3400, 0x4dbf},    // Han, extension A
    {0x4e00, 0x9fff},    // Han
    {0xf900, 0xfaff},    // Han, compatibility
    {0x20000, 0x3ffff},  // Han, further extensions
};

bool is_of_word(char32_t c) {
  constexpr uint16_t kOfWord = trait::kLetter | trait::kMark | trait::kNumber;
  return (UnicodeTable::get().traits(c) & kOfWord) != 0;
}

uint32_t hash_of(std::u32string_view word) {
  const auto hash = hash_bytes(std::as_bytes(std::span(word.data(), word.size())));
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

}  // namespace

std::vector<uint32_t> word_hashes(std::string_view text) {
  std::vector<uint32_t> hashes;
  std::u32string word;      // letters of a spaced script, in lower case
  std::u32string unspaced;  // the last characters of an unspaced one, at most two
  size_t n_pairs = 0;       // made of the run that `unspaced` ends
  const auto end_word = [&] {
    if (!word.empty()) hashes.push_back(hash_of(word));
    word.clear();
  };
  const auto end_run = [&] {
    if (n_pairs == 0 && !unspaced.empty()) hashes.push_back(hash_of(unspaced));
    unspaced.clear();
    n_pairs = 0;
  };
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    text.remove_prefix(c.n_bytes);
    if (!is_of_word(c.code_point)) {
      end_word();
      end_run();
    } else if (is_in(kUnspaced, c.code_point)) {
      end_word();
      unspaced += c.code_point;
      if (unspaced.size() < 2) continue;
      hashes.push_back(hash_of(unspaced));
      ++n_pairs;
      unspaced.erase(0, 1);
    } else {
      end_run();
      append_lower_case(c.code_point, word);
    }
  }
  end_word();
  end_run();
  return hashes;
}

PassageWords::PassageWords(std::string_view text, std::span<const Passage> passages) {
  for (uint32_t i = 0; i < passages.size(); ++i) {
    std::vector<uint32_t> words = word_hashes(passages[i].of(text));
    lengths_.push_back(static_cast<uint32_t>(words.size()));
    std::sort(words.begin(), words.end());
    for (size_t begin = 0; begin < words.size();) {
      const auto end = std::upper_bound(words.begin(), words.end(), words[begin]);
      const size_t next = static_cast<size_t>(end - words.begin());
      postings_.push_back({words[begin], i, static_cast<uint32_t>(next - begin)});
      begin = next;
    }
  }
  std::sort(postings_.begin(), postings_.end(), [](const Posting& a, const Posting& b) {
    return a.word != b.word ? a.word < b.word : a.passage < b.passage;
  });
  postings_.shrink_to_fit();
}

std::span<const PassageWords::Posting> PassageWords::find(uint32_t word) const {
  const auto before = [](const Posting& posting, uint32_t wanted) { return posting.word < wanted; };
  const auto begin = std::lower_bound(postings_.begin(), postings_.end(), word, before);
  auto end = begin;
  while (end != postings_.end() && end->word == word) ++end;
  return {postings_.data() + (begin - postings_.begin()), static_cast<size_t>(end - begin)};
}

}  // namespace kinglet
