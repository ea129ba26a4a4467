#include "kv/page_pool.h"

#include <numeric>

namespace kinglet {

PagePool::PagePool(uint32_t n_pages) : n_users_(n_pages), free_(n_pages), n_free_(n_pages) {
  std::iota(free_.begin(), free_.end(), 0u);
}

uint32_t PagePool::ring_index(uint32_t i) const {
  return static_cast<uint32_t>((uint64_t{first_free_} + i) % free_.size());
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

}  // namespace kinglet
