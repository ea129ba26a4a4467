// The order in which neighbours of a text merge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kinglet {

constexpr uint32_t kNoMerge = UINT32_MAX;

// Gives the merges of the highest priority first, of equals the leftmost.
//
// Texts repeat themselves, and equal merges are most often pushed from left to right: such a run is
// a list, and only its first entry is in the heap. A million equal letters make a heap of one.
class MergeQueue {
 public:
  struct Entry {
    uint32_t left;   // the position of the left neighbour
    uint32_t merge;  // the number of the merge, not kNoMerge
  };

  MergeQueue() : last_(kMaxOpenRuns, kNone) {}

  // Equal merges have equal priorities.
  void push(Entry entry, float priority);
  bool empty() const { return heap_.empty(); }
  Entry pop();

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kMaxOpenRuns = 1 << 14;

  struct Link {
    Entry entry;
    uint32_t next;  // in its run, or of those that are free; or kNone
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
  std::vector<Head> heap_;  // as of std::push_heap()
  // The ends of the runs that can still grow; of merges that share a place the latest has it.
  std::vector<uint32_t> last_;
};

}  // namespace kinglet
