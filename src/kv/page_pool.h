// Which pages of a store are in use, and by how many sequences. Knows nothing of their contents.
#pragma once

#include <cstdint>
#include <vector>

namespace kinglet {

class PagePool {
 public:
  explicit PagePool(uint32_t n_pages);

  uint32_t n_pages() const { return static_cast<uint32_t>(n_users_.size()); }
  uint32_t n_free() const { return n_free_; }
  uint32_t n_used() const { return n_pages() - n_free_; }
  uint32_t n_users(uint32_t page) const { return n_users_[page]; }

  // The page that was freed longest ago, now with one user. There must be one.
  uint32_t take();

  void share(uint32_t page) { ++n_users_[page]; }
  void release(uint32_t page);

  // Hands `page` and its users over to the free page `to`.
  void move(uint32_t page, uint32_t to);

  // The free page of the lowest number; n_pages() where there is none.
  uint32_t lowest_free() const;
  // The used page of the highest number; n_pages() where there is none.
  uint32_t highest_used() const;

  // Free pages that are next to each other and have used ones on both sides.
  uint32_t n_holes() const;
  uint32_t largest_free_run() const;

  // Makes the free pages come in ascending order.
  void sort_free();

 private:
  uint32_t ring_index(uint32_t i) const { return (first_free_ + i) % n_pages(); }

  std::vector<uint32_t> n_users_;  // [n_pages]
  std::vector<uint32_t> free_;     // a ring of n_free_ pages from first_free_ on
  uint32_t first_free_ = 0;
  uint32_t n_free_ = 0;
};

}  // namespace kinglet
