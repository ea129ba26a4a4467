#include "kv/page_pool.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>

#include "base/small_sort.h"

namespace kinglet {

PagePool::PagePool(uint32_t n_pages) : n_users_(n_pages), free_(n_pages), n_free_(n_pages) {
  std::iota(free_.begin(), free_.end(), 0u);
}

uint32_t PagePool::take() {
  const uint32_t page = free_[first_free_];
  first_free_ = ring_index(1);
  --n_free_;
  n_users_[page] = 1;
  return page;
}

void PagePool::release(uint32_t page) {
  if (--n_users_[page] > 0) return;
  free_[ring_index(n_free_)] = page;
  ++n_free_;
}

void PagePool::move(uint32_t page, uint32_t to) {
  for (uint32_t i = 0; i < n_free_; ++i) {
    if (free_[ring_index(i)] == to) free_[ring_index(i)] = page;
  }
  std::swap(n_users_[page], n_users_[to]);
}

uint32_t PagePool::lowest_free() const {
  return static_cast<uint32_t>(std::find(n_users_.begin(), n_users_.end(), 0u) - n_users_.begin());
}

uint32_t PagePool::highest_used() const {
  for (uint32_t page = n_pages(); page > 0; --page) {
    if (n_users_[page - 1] > 0) return page - 1;
  }
  return n_pages();
}

uint32_t PagePool::n_holes() const {
  uint32_t holes = 0;
  bool seen_used = false;
  bool in_free_run = false;
  for (const uint32_t users : n_users_) {
    if (users > 0 && in_free_run && seen_used) ++holes;
    seen_used = seen_used || users > 0;
    in_free_run = users == 0;
  }
  return holes;
}

uint32_t PagePool::largest_free_run() const {
  uint32_t largest = 0;
  uint32_t run = 0;
  for (const uint32_t users : n_users_) {
    run = users > 0 ? 0 : run + 1;
    largest = std::max(largest, run);
  }
  return largest;
}

void PagePool::sort_free() {
  const auto oldest = free_.begin() + static_cast<ptrdiff_t>(first_free_);
  std::rotate(free_.begin(), oldest, free_.end());
  first_free_ = 0;
  small_sort(std::span(free_).first(n_free_), std::less<>());
}

}  // namespace kinglet
