// Merging neighbours into longer tokens, best first: what both kinds of BPE have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace kinglet {

// A part of a text, in a list of all of them; without bytes once its left neighbour took it.
struct Symbol {
  uint32_t begin;
  uint32_t n_bytes;
  uint32_t previous;
  uint32_t next;
  TokenId id;  // kNoToken where the part is no token
};

// What two neighbours make.
template <class Priority>
struct Merged {
  TokenId id;
  Priority priority;
};

// Of all neighbours that a rule allows to merge, those of the highest priority do, of equals the
// leftmost, until none may. `Rule` is called with (text, left symbol, right symbol) and gives an
// optional Merged<Priority>. Takes time O(n log n).
//
// Add a text's symbols from left to right, then run(); after that the merger is as new, so that
// one serves many words without allocating for each.
template <class Priority, class Rule>
class Merger {
 public:
  explicit Merger(Rule rule) : rule_(rule) {}

  void add(TokenId id, size_t n_bytes) {
    const auto i = static_cast<uint32_t>(symbols_.size());
    const uint32_t begin = i == 0 ? 0 : symbols_.back().begin + symbols_.back().n_bytes;
    symbols_.push_back({begin, static_cast<uint32_t>(n_bytes), i - 1, i + 1, id});
  }

  // `text` is the symbols' bytes, at least one. Calls f(part of the text, id) for what they have
  // merged into, in order.
  template <class F>
  void run(std::string_view text, F f) {
    symbols_.front().previous = kNone;
    symbols_.back().next = kNone;
    for (uint32_t i = 1; i < symbols_.size(); ++i) offer(text, i - 1);
    while (!candidates_.empty()) {
      const Candidate candidate = candidates_.top();
      candidates_.pop();
      if (is_current(candidate)) apply(text, candidate);
    }
    for (uint32_t i = 0; i != kNone; i = symbols_[i].next) {
      f(text.substr(symbols_[i].begin, symbols_[i].n_bytes), symbols_[i].id);
    }
    symbols_.clear();
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Two neighbours that may merge: a symbol and the one behind it.
  struct Candidate {
    Merged<Priority> merged;
    uint32_t left;
    uint32_t n_bytes;  // of both; neighbours that have merged since have more, or none

    bool operator<(const Candidate& other) const {
      return merged.priority != other.merged.priority ? merged.priority < other.merged.priority
                                                      : left > other.left;
    }
  };

  // Puts a symbol and the one behind it in line, if there is one and the two may merge.
  void offer(std::string_view text, uint32_t left) {
    const uint32_t right = symbols_[left].next;
    if (right == kNone) return;
    const std::optional<Merged<Priority>> merged = rule_(text, symbols_[left], symbols_[right]);
    if (!merged) return;
    candidates_.push({*merged, left, symbols_[left].n_bytes + symbols_[right].n_bytes});
  }

  bool is_current(const Candidate& candidate) const {
    const Symbol& left = symbols_[candidate.left];
    return left.n_bytes != 0 && left.next != kNone &&
           left.n_bytes + symbols_[left.next].n_bytes == candidate.n_bytes;
  }

  void apply(std::string_view text, const Candidate& candidate) {
    Symbol& left = symbols_[candidate.left];
    Symbol& right = symbols_[left.next];
    left.id = candidate.merged.id;
    left.n_bytes = candidate.n_bytes;
    left.next = right.next;
    right.n_bytes = 0;
    if (left.next != kNone) symbols_[left.next].previous = candidate.left;
    if (left.previous != kNone) offer(text, left.previous);
    offer(text, candidate.left);
  }

  Rule rule_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Candidate> candidates_;
};

}  // namespace kinglet
