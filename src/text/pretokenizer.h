// Cuts text into words. BPE merges each word by itself: no token crosses the end of a word.
//
// Models were trained with words that regular expressions found, and a file names the expression of
// its model (tokenizer.ggml.pre). Here each expression is a row of a table over hand-written
// matchers. Sources: the pre-tokenizers in the models' tokenizer.json; the names are llama.cpp's.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace kinglet {

struct SplitPattern;

struct Pretokenizer {
  std::string_view name;
  const SplitPattern* pattern;
  bool prefers_whole_words = false;  // a word that is a token becomes that token without merging
  bool add_bos = false;              // if the file does not say
  bool adds_separator = false;       // between two texts, if the file does not say
  // Merges begin with characters instead of bytes, and BOS is always added, whatever the file says.
  // Only a word of newlines that is a token becomes that token without merging.
  bool merges_characters = false;
};

// Returns null if no pre-tokenizer has this name.
const Pretokenizer* find_pretokenizer(std::string_view name);

// Returns the sizes in bytes of the words that make up `text`, in order; none is 0. A byte that is
// not valid UTF-8 counts as the character U+FFFD, a symbol. Takes time O(n); `text` must be shorter
// than 4 GiB.
std::vector<uint32_t> split_words(const Pretokenizer& pretokenizer, std::string_view text);

}  // namespace kinglet
