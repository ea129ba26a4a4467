// Ranks passages by the words that they share with a query: BM25 (Robertson and Zaragoza, 2009).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "search/passages.h"

namespace kinglet {

// Returns a hash of each word of a text, in lower case. Words are runs of letters, marks and
// digits. Scripts that do not put space between words (Chinese, Japanese, Thai and their like) give
// the pairs of neighbouring characters, or a single character that has no neighbour.
std::vector<uint32_t> word_hashes(std::string_view text);

// The words of a document's passages.
class PassageWords {
 public:
  PassageWords(std::string_view text, std::span<const Passage> passages);

  struct Posting {
    uint32_t word;
    uint32_t passage;
    uint32_t n_times;
  };

  // The passages that have the word, in order.
  std::span<const Posting> find(uint32_t word) const;

  // The number of words of each passage.
  std::span<const uint32_t> lengths() const { return lengths_; }

 private:
  std::vector<Posting> postings_;  // by word, then by passage
  std::vector<uint32_t> lengths_;
};

}  // namespace kinglet
