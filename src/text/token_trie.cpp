#include "text/token_trie.h"

#include <algorithm>
#include <deque>
#include <string>

namespace kinglet {
namespace {

struct Entry {
  std::string_view bytes;
  TokenId id;
};

// The entries of a node: as many of their first bytes are equal as the node is deep.
struct EntryRange {
  size_t begin;
  size_t end;
};

}  // namespace

TokenTrie::TokenTrie(const Vocabulary& vocabulary,
                     void (*append_bytes)(std::string_view spelled, std::string& bytes)) {
  std::deque<std::string> respelled;  // a deque does not move its elements
  std::vector<Entry> entries;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const TokenType type = vocabulary.type(id);
    if (type == TokenType::normal) {
      entries.push_back({vocabulary.bytes(id), id});
    } else if (type == TokenType::user_defined || type == TokenType::unused) {
      append_bytes(vocabulary.bytes(id), respelled.emplace_back());
      entries.push_back({respelled.back(), id});
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    const int order = a.bytes.compare(b.bytes);
    return order != 0 ? order < 0 : a.id < b.id;
  });

  // Builds the trie level by level: the entries of a node are known before those of its children.
  std::vector<EntryRange> level = {{0, entries.size()}};
  labels_.push_back(0);
  for (size_t depth = 0; !level.empty(); ++depth) {
    std::vector<EntryRange> next;
    for (auto [begin, end] : level) {
      TokenId token = kNoToken;
      for (; begin < end && entries[begin].bytes.size() == depth; ++begin)
        token = entries[begin].id;
      tokens_.push_back(token);
      first_children_.push_back(static_cast<uint32_t>(labels_.size()));
      while (begin < end) {
        const char label = entries[begin].bytes[depth];
        const size_t first = begin;
        while (begin < end && entries[begin].bytes[depth] == label) ++begin;
        labels_.push_back(static_cast<uint8_t>(label));
        next.push_back({first, begin});
      }
    }
    level = std::move(next);
  }
  first_children_.push_back(static_cast<uint32_t>(labels_.size()));
}

}  // namespace kinglet
