#include "text/merge_queue.h"

#include <algorithm>

namespace kinglet {

void MergeQueue::push(Entry entry, float priority) {
  const uint32_t link = new_link(entry);
  uint32_t& last = last_of_run(entry.merge);
  const bool goes_on = last != kNone && links_[last].entry.merge == entry.merge &&
                       links_[last].entry.left < entry.left;
  if (goes_on) {
    links_[last].next = link;
  } else {
    heap_.push_back({priority, entry.left, link});
    std::push_heap(heap_.begin(), heap_.end());
  }
  last = link;
}

MergeQueue::Entry MergeQueue::pop() {
  const Head head = heap_.front();
  const auto [entry, next] = links_[head.link];
  Head successor{head.priority, 0, next};
  if (next != kNone) {
    successor.left = links_[next].entry.left;
  } else {
    successor = heap_.back();
    heap_.pop_back();
  }
  if (!heap_.empty()) replace_first(successor);
  if (last_of_run(entry.merge) == head.link) last_of_run(entry.merge) = kNone;
  links_[head.link].next = free_;
  free_ = head.link;
  return entry;
}

// Half the work of a pop and a push, and usually less: the next entry of a run stays near the top.
void MergeQueue::replace_first(Head head) {
  size_t at = 0;
  for (size_t child = 1; child < heap_.size(); child = 2 * at + 1) {
    if (child + 1 < heap_.size() && heap_[child] < heap_[child + 1]) ++child;
    if (!(head < heap_[child])) break;
    heap_[at] = heap_[child];
    at = child;
  }
  heap_[at] = head;
}

uint32_t MergeQueue::new_link(Entry entry) {
  if (free_ == kNone) {
    links_.push_back({entry, kNone});
    return static_cast<uint32_t>(links_.size() - 1);
  }
  const uint32_t link = free_;
  free_ = links_[link].next;
  links_[link] = {entry, kNone};
  return link;
}

}  // namespace kinglet
