// Where the rows of a sequence are: its pages in a store, in order, and its beginning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "kernels/attention.h"
#include "kv/kv_store.h"

namespace kinglet {

// A page belongs to one sequence or to several that share a beginning. A page that was given back
// leaves a gap, so that later pages keep their places. `page` is a place in this table.
//
// If the store's codes are integers, the exact rows of the first positions and the centres of keys
// (see tensor/kv_kind.h) are in a beginning, which sequences share, too.
class PageTable {
 public:
  // An empty table, with room for the pages of `capacity` positions, so that steps allocate no
  // memory. With gaps, it may be longer than the store has pages.
  PageTable(std::shared_ptr<KvStore> store, uint32_t capacity, bool has_gaps);
  ~PageTable();

  PageTable(PageTable&&) noexcept = default;
  PageTable& operator=(PageTable&&) = delete;

  // Adds the first n pages of another table, which stands for the same store or for another one of
  // the same configuration. They are shared or copied, and the beginning is shared.
  void share_from(const PageTable& other, uint32_t n);
  void copy_from(const PageTable& other, uint32_t n);

  KvStore& store() const { return *store_; }
  const std::shared_ptr<KvStore>& shared_store() const { return store_; }
  std::span<const uint32_t> pages() const { return pages_; }  // kNoPage: given back
  uint32_t size() const { return static_cast<uint32_t>(pages_.size()); }
  bool has(uint32_t page) const { return pages_[page] != kNoPage; }

  uint32_t page_positions() const { return store_->config().page_positions; }
  uint32_t pages_for(uint64_t n_positions) const;

  // How many free pages own(first, end) takes.
  uint32_t n_needed(uint32_t first, uint32_t end) const;

  // Makes the pages [first, end) writable: copies shared ones, and adds pages up to `end`. Gaps
  // stay. ErrorCode::out_of_memory if too few pages are free; nothing has changed then.
  Status own(uint32_t first, uint32_t end);

  // Fills the gaps among the pages [first, end). ErrorCode::out_of_memory as own().
  Status fill(uint32_t first, uint32_t end);

  // Makes the beginning writable: allocates it, or copies it if another table shares it.
  // ErrorCode::out_of_memory.
  Status own_beginning();

  // Gives back one page, or all pages from n on.
  void release(uint32_t page);
  void cut(uint32_t n);

  // Makes an empty table begin with n gaps.
  void skip(uint32_t n) { pages_.resize(n, kNoPage); }

  // A row in its stored form (see tensor/kv_kind.h).
  struct Row {
    std::byte* codes;
    float* scales;
  };
  Row row(const KvSide& side, uint32_t position, uint32_t head) const;

  // The centre of a head's keys, [head_dim].
  std::span<float> centre(const KvLayer& layer, uint32_t head) const;

  // Stores or restores a row, [head_dim].
  void write(const KvLayer& layer, const KvSide& side, uint32_t position, uint32_t head,
             std::span<const float> row);
  void read(const KvLayer& layer, const KvSide& side, uint32_t position, uint32_t head,
            std::span<float> row) const;

  // Makes the mean of the first positions' keys the centre of a layer's heads. It depends on these
  // only, so results do not depend on batches.
  void find_centres(const KvLayer& layer);

  // Copies the rows of all layers from one position to another.
  void copy_position(uint32_t from, uint32_t to);

  // The memory where attention reads a head of a layer. Valid until the table changes.
  KvView view(const KvLayer& layer, uint32_t head) const;

 private:
  static constexpr uint32_t kNoPage = UINT32_MAX;

  bool is_shared(uint32_t page) const { return has(page) && store_->n_users(pages_[page]) > 1; }
  Status check_free(uint32_t n_needed) const;

  std::shared_ptr<KvStore> store_;
  std::vector<uint32_t> pages_;
  std::shared_ptr<AlignedBuffer> beginning_;  // null: none yet, or none needed
  std::vector<float> row_;                    // [head_dim] of the widest layer: a row being stored
};

}  // namespace kinglet
