// Cutting text into the words that BPE merges one by one: no token crosses a word's end.
//
// Models were trained with words found by regular expressions, and a file names its model's
// (tokenizer.ggml.pre). Here each is a row of a table over hand-written matchers. Sources: the
// pre-tokenizers in the models' tokenizer.json, under the names that llama.cpp gives them.
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
  bool add_bos = false;              // where the file is silent
  bool adds_separator = false;       // between two texts, likewise
  // Merges begin with characters, not with bytes, and BOS is added whatever the file says. Only a
  // word of newlines is preferred whole.
  bool merges_characters = false;
};

// Null where no pre-tokenizer has this name.
const Pretokenizer* find_pretokenizer(std::string_view name);

// The sizes in bytes of the words that make up `text`, in order; none is 0. A byte that is not
// UTF-8 counts as one symbol, as U+FFFD would. Takes time O(n); `text` must be shorter than 4 GiB.
std::vector<uint32_t> split_words(const Pretokenizer& pretokenizer, std::string_view text);

}  // namespace kinglet
