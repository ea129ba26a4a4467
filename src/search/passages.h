// Cuts a text into the passages that a search finds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace kinglet {

// Bytes of a text.
struct Passage {
  uint32_t begin;
  uint32_t end;

  std::string_view of(std::string_view text) const { return text.substr(begin, end - begin); }
};

struct PassageOptions {
  size_t max_tokens = 200;
  size_t overlap = 32;  // the most tokens that a passage repeats of the one before
  std::function<size_t(std::string_view)> count_tokens;
};

// Returns the passages of a text in UTF-8 of less than 4 GiB, in order. They contain all of it
// except the space between them. A passage has whole sentences (lines, in code and tables) where
// these fit, and ends after a paragraph where it is then at least half as long as it may be. A
// heading stays with what follows. A passage that ends within a paragraph is repeated in part by
// the next one, in whole sentences. No passage has more than max_tokens (at least 8), as
// count_tokens() counts them; only a single character may have more.
std::vector<Passage> cut_passages(std::string_view text, const PassageOptions& options);

}  // namespace kinglet
