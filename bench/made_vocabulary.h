// A vocabulary of 262,000 tokens that is made up, in the proportions of Gemma 3's: words and parts
// of words, other scripts, punctuation of programs, runs of white space, digits, bytes. The same on
// every machine.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/utf8.h"
#include "gguf/file.h"
#include "gguf/writer.h"
#include "spm_vocabulary.h"
#include "text/tokenizer.h"

namespace kinglet::maskbench {

constexpr size_t kMadeTokens = 262144;
constexpr std::string_view kSpace = "\xe2\x96\x81";  // as SentencePiece spells it

class MadeVocabulary {
 public:
  std::vector<std::string> make() {
    add_short();
    add_marks(6000);
    struct Script {
      char32_t first;
      uint32_t n_letters;
      uint32_t n_most;  // letters of a token
      size_t n_tokens;
    };
    constexpr Script kScripts[] = {
        {0x430, 32, 8, 25000}, {0x4e00, 20000, 2, 30000}, {0xac00, 11000, 3, 9000},
        {0x627, 36, 7, 9000},  {0x905, 60, 6, 9000},      {0x3041, 80, 4, 5000},
        {0xe0, 31, 6, 8000},   {0x1f300, 500, 2, 1000},
    };
    for (const auto& [first, n_letters, n_most, n_tokens] : kScripts) {
      for (const size_t end = made_.size() + n_tokens; made_.size() < end;) {
        std::string text(random() % 2 == 0 ? kSpace : "");
        for (uint32_t n = 1 + random() % n_most; n > 0; --n) {
          append_utf8(text, first + random() % n_letters);
        }
        add(text);
      }
    }
    add_words(kMadeTokens - 3 - 256 - made_.size());
    return std::move(tokens_);
  }

 private:
  uint32_t random() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 33);
  }

  void add(const std::string& text) {
    if (made_.insert(text).second) tokens_.push_back(text);
  }

  void add_short() {
    for (char c = '!'; c <= '~'; ++c) {
      add(std::string(1, c));
      if (c < '0' || c > '9') add(cat(kSpace, std::string_view(&c, 1)));
    }
    std::string spaces;
    for (size_t n = 1; n < 32; ++n) {
      add(spaces += kSpace);
      add(std::string(n, '\n'));
      add(std::string(n, '\t'));
    }
    for (char a = 'a'; a <= 'z'; ++a) {
      for (char b = 'a'; b <= 'z'; ++b) {
        add({a, b});
        for (char c = 'a'; c <= 'z'; ++c) add({a, b, c});
      }
    }
  }

  void add_marks(size_t n_tokens) {
    constexpr std::string_view kMarks = "\"\"\"\\'(){}[]<>:;,./?!@#$%^&*-_=+|~`";
    for (const size_t end = made_.size() + n_tokens; made_.size() < end;) {
      std::string text(random() % 4 == 0 ? kSpace : "");
      for (uint32_t n = 1 + random() % 4; n > 0; --n) text += kMarks[random() % kMarks.size()];
      if (random() % 4 == 0) text += syllable();
      add(text);
    }
  }

  std::string syllable() {
    constexpr std::array<std::string_view, 28> kBegins = {
        "",  "b", "c",  "d",  "f",  "g",  "h", "j",  "k",  "l",  "m",  "n",  "p",  "r",
        "s", "t", "st", "tr", "pr", "ch", "w", "th", "sh", "qu", "pl", "gr", "br", "v"};
    constexpr std::array<std::string_view, 12> kMiddles = {"a", "e",  "i",  "o",  "u",  "ea",
                                                           "a", "ou", "io", "ie", "ai", "e"};
    constexpr std::array<std::string_view, 14> kEnds = {"",  "n", "r",  "s",   "t", "l",  "m",
                                                        "d", "",  "st", "ing", "",  "ck", "nt"};
    return cat(kBegins[random() % kBegins.size()], kMiddles[random() % kMiddles.size()],
               kEnds[random() % kEnds.size()]);
  }

  void add_words(size_t n_words) {
    for (const size_t end = made_.size() + n_words; made_.size() < end;) {
      std::string text = syllable();
      const uint32_t length = random() % 64;
      for (uint32_t n = length == 0 ? 3 : length % 3; n > 0; --n) text += syllable();
      const uint32_t kind = random() % 8;
      if (kind < 2) text[0] = static_cast<char>(text[0] - 'a' + 'A');
      add(cat(kind % 2 == 0 ? kSpace : "", text));
    }
  }

  uint64_t state_ = 1;
  std::set<std::string> made_;
  std::vector<std::string> tokens_;
};

inline Status write_made_vocabulary(const std::string& path) {
  SpmVocabulary vocabulary;
  for (std::string& token : MadeVocabulary().make()) vocabulary.add(std::move(token), 1);
  std::vector<float> scores;
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) scores.push_back(-static_cast<float>(i));
  GgufWriter file;
  file.set("general.architecture", "llama");
  vocabulary.set(file, scores);
  KINGLET_TRY(file.open(path));
  return file.close();
}

}  // namespace kinglet::maskbench
