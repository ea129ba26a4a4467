// The order in which adjacent symbols of a text merge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kinglet {

constexpr uint32_t kNoMerge = UINT32_MAX;

// Returns the merges with the highest priority first; among equal priorities, the leftmost first.
//
// Texts repeat themselves, and equal merges are most often pushed from left to right. Such a run of
// equal merges is a linked list, and only its first entry is in the heap. So a million equal
// letters make a heap of one entry.
class MergeQueue {
 public:
  struct Entry {
    uint32_t left;   // the position of the left neighbour
    uint32_t merge;  // the number of the merge, not kNoMerge
  };

  MergeQueue() : last_(kMaxOpenRuns, kNone) {}

  // Equal merges must have equal priorities.
  void push(Entry entry, float priority);
  bool empty() const { return heap_.empty(); }
  Entry pop();

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kMaxOpenRuns = 1 << 14;

  struct Link {
    Entry entry;
    uint32_t next;  // the next link of the run or of the free list, or kNone
  };
  // The first entry of a run.
  struct Head {
    float priority;
    uint32_t left;
    uint32_t link;

    bool operator<(const Head& other) const {
      return priority != other.priority ? priority < other.priority : left > other.left;
    }
  };

  uint32_t new_link(Entry entry);
  void replace_first(Head head);
  uint32_t& last_of_run(uint32_t merge) { return last_[merge % kMaxOpenRuns]; }

  std::vector<Link> links_;
  uint32_t free_ = kNone;
  std::vector<Head> heap_;  // in the order of std::push_heap()
  // The last links of the runs that can still grow. Several merges may share an element; the one
  // that was pushed last owns it.
  std::vector<uint32_t> last_;
};

}  // namespace kinglet
