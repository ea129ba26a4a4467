// Merging neighbours into longer tokens, best first: what both kinds of BPE have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/merge_queue.h"
#include "text/vocabulary.h"

namespace kinglet {

// A part of a text, in a list of all of them; without bytes once its left neighbour took it.
struct Symbol {
  uint32_t begin;
  uint32_t n_bytes;
  uint32_t previous;
  uint32_t next;
  TokenId id;      // kNoToken where the part is no token
  uint32_t merge;  // of it and the next one, or kNoMerge
};

// Of all neighbours that a rule allows to merge, those of the highest priority do, of equals the
// leftmost, until none may. Takes time O(n log n).
//
// `Rule` knows numbered merges, each of which makes one token of two others:
//   uint32_t find(text, left symbol, right symbol)  the two's merge, or kNoMerge
//   float priority(merge)
//   TokenId result(merge)
//
// Add a text's symbols from left to right, then run(); after that the merger is as new, so that
// one serves many words without allocating for each.
template <class Rule>
class Merger {
 public:
  explicit Merger(Rule rule) : rule_(rule) {}

  void add(TokenId id, size_t n_bytes) {
    const auto i = static_cast<uint32_t>(symbols_.size());
    const uint32_t begin = i == 0 ? 0 : symbols_.back().begin + symbols_.back().n_bytes;
    symbols_.push_back({begin, static_cast<uint32_t>(n_bytes), i - 1, i + 1, id, kNoMerge});
  }

  // `text` is the symbols' bytes, at least one. Calls f(part of the text, id) for what they have
  // merged into, in order.
  template <class F>
  void run(std::string_view text, F f) {
    symbols_.front().previous = kNone;
    symbols_.back().next = kNone;
    for (uint32_t i = 1; i < symbols_.size(); ++i) offer(text, i - 1);
    while (!queue_.empty()) {
      const MergeQueue::Entry next = queue_.pop();
      // The two may have become parts of others since.
      if (symbols_[next.left].merge == next.merge) apply(text, next.left);
    }
    for (uint32_t i = 0; i != kNone; i = symbols_[i].next) {
      f(text.substr(symbols_[i].begin, symbols_[i].n_bytes), symbols_[i].id);
    }
    symbols_.clear();
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Puts a symbol and the one after it in line, if there is one and the two may merge.
  void offer(std::string_view text, uint32_t i) {
    Symbol& left = symbols_[i];
    left.merge = left.next == kNone ? kNoMerge : rule_.find(text, left, symbols_[left.next]);
    if (left.merge != kNoMerge) queue_.push({i, left.merge}, rule_.priority(left.merge));
  }

  void apply(std::string_view text, uint32_t i) {
    Symbol& left = symbols_[i];
    Symbol& right = symbols_[left.next];
    left.id = rule_.result(left.merge);
    left.n_bytes += right.n_bytes;
    left.next = right.next;
    right.merge = kNoMerge;
    if (left.next != kNone) symbols_[left.next].previous = i;
    if (left.previous != kNone) offer(text, left.previous);
    offer(text, i);
  }

  Rule rule_;
  std::vector<Symbol> symbols_;
  MergeQueue queue_;
};

}  // namespace kinglet
