// Merges adjacent symbols into longer tokens, best merge first. Both kinds of BPE use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/cancellation.h"
#include "text/merge_queue.h"
#include "text/vocabulary.h"

namespace kinglet {

// A part of a text, in a linked list of all parts. A symbol that merges into its left neighbour
// leaves the list.
struct Symbol {
  uint32_t begin;
  uint32_t n_bytes;
  uint32_t previous;
  uint32_t next;
  TokenId id;      // kNoToken if the part is not a token
  uint32_t merge;  // the merge of this symbol and the next one, or kNoMerge
};

// Merges, until no merge is left, the pair of adjacent symbols whose merge has the highest
// priority; among equal priorities, the leftmost pair. Takes time O(n log n).
//
// `Rule` knows numbered merges. Each makes one token of two others:
//   uint32_t find(text, left symbol, right symbol)  the merge of the two symbols, or kNoMerge
//   float priority(merge)
//   TokenId result(merge)
//
// Add the symbols of a text from left to right, then call run(). After that the merger is empty
// again, so one merger can process many words without allocating memory for each.
template <class Rule>
class Merger {
 public:
  // Once it is cancelled, there are no more merges.
  Merger(Rule rule, const Cancellation& cancellation) : rule_(rule), cancellation_(cancellation) {}

  void add(TokenId id, size_t n_bytes) {
    const auto i = static_cast<uint32_t>(symbols_.size());
    const uint32_t begin = i == 0 ? 0 : symbols_.back().begin + symbols_.back().n_bytes;
    symbols_.push_back({begin, static_cast<uint32_t>(n_bytes), i - 1, i + 1, id, kNoMerge});
  }

  // `text` has the bytes of all symbols; there must be at least one symbol. After merging, calls
  // f(part of the text, id) for each remaining symbol, in order.
  template <class F>
  void run(std::string_view text, F f) {
    symbols_.front().previous = kNone;
    symbols_.back().next = kNone;
    for (uint32_t i = 1; i < symbols_.size(); ++i) offer(text, i - 1);
    while (!queue_.empty()) {
      const MergeQueue::Entry next = queue_.pop();
      // Other merges may have taken one of the two symbols since.
      if (symbols_[next.left].merge == next.merge) apply(text, next.left);
      if (cancellation_.requested()) queue_ = MergeQueue();
    }
    for (uint32_t i = 0; i != kNone; i = symbols_[i].next) {
      f(text.substr(symbols_[i].begin, symbols_[i].n_bytes), symbols_[i].id);
    }
    symbols_.clear();
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Queues the merge of a symbol and the next one, if there is a next one and the two may merge.
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
  Cancellation cancellation_;
  std::vector<Symbol> symbols_;
  MergeQueue queue_;
};

}  // namespace kinglet
