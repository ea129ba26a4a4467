#include "text/merge_queue.h"

namespace kinglet {

void MergeQueue::push(Entry entry, float priority) {
  const uint32_t link = new_link(entry);
  uint32_t& last = last_of_run(entry.merge);
  const bool goes_on = last != kNone && links_[last].entry.merge == entry.merge &&
                       links_[last].entry.left < entry.left;
  if (goes_on) {
    links_[last].next = link;
  } else {
    heap_.push({priority, entry.left, link});
  }
  last = link;
}

MergeQueue::Entry MergeQueue::pop() {
  const Head head = heap_.top();
  heap_.pop();
  const auto [entry, next] = links_[head.link];
  if (next != kNone) heap_.push({head.priority, links_[next].entry.left, next});
  if (last_of_run(entry.merge) == head.link) last_of_run(entry.merge) = kNone;
  links_[head.link].next = free_;
  free_ = head.link;
  return entry;
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
