// Tracks which pages of a store are in use, and by how many sequences. It does not know what the
// pages contain.
#pragma once

#include <cstdint>
#include <vector>

namespace kinglet {

class PagePool {
 public:
  explicit PagePool(uint32_t n_pages);

  uint32_t n_free() const { return n_free_; }
  uint32_t n_users(uint32_t page) const { return n_users_[page]; }

  // Takes the page that was freed longest ago; the page then has one user. A page must be free.
  uint32_t take();

  void share(uint32_t page) { ++n_users_[page]; }
  void release(uint32_t page);

 private:
  uint32_t ring_index(uint32_t i) const;

  std::vector<uint32_t> n_users_;  // [n_pages]
  std::vector<uint32_t> free_;     // a ring of n_free_ pages from first_free_ on
  uint32_t first_free_ = 0;
  uint32_t n_free_ = 0;
};

}  // namespace kinglet
