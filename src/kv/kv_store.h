// Memory for keys and values, in pages that sequences can share. A KvCache is a sequence in it.
//
// A page holds page_positions positions of every layer. For each layer, it holds the keys' codes
// [n_kv_heads][page_positions][code bytes] and scales [n_kv_heads][page_positions][scales], then
// the same for the values. Keys and values begin on a cache line. The rows of one head are adjacent
// because attention reads one head at a time: with the heads of a position side by side, decoding
// at 2,048 positions took twice as long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "kv/page_pool.h"
#include "kv/state_shape.h"
#include "tensor/kv_kind.h"

namespace kinglet {

// Bytes of the rows of one layer at one position.
uint64_t row_bytes(const RowShape& shape, KvKind k_kind, KvKind v_kind);

struct KvStoreConfig {
  std::vector<RowShape> rows = {};  // of the layers that have keys and values
  KvKind k_kind = KvKind::f32;
  KvKind v_kind = KvKind::f32;
  uint32_t page_positions = 0;
  uint32_t n_pages = 0;  // 1: the store is in one piece

  // Bytes of one position of all layers, without the padding of pages.
  uint64_t bytes_per_position() const;
  // Bytes that a position would have in F32 over bytes_per_position(); 1 if there are no rows.
  double compression() const;
};

// The keys or the values of one layer within a page.
struct KvSide {
  const KvKindInfo* kind;
  size_t code_bytes;    // of a row
  size_t n_scales;      // of a row
  size_t codes_begin;   // in bytes from the beginning of the page
  size_t scales_begin;  // in bytes from the beginning of the page
  // Of the f16 rows of the first positions, [n_kv_heads][kExactPositions], within the beginning of
  // a sequence: see PageTable.
  size_t exact_begin;
  size_t exact_bytes;  // of such a row

  bool is_exact_at(uint32_t position) const {
    return kind->has_integer_codes && position < kExactPositions;
  }
  const KvKindInfo& kind_at(uint32_t position) const { return kinglet::kind_at(*kind, position); }
  size_t code_bytes_at(uint32_t position) const {
    return is_exact_at(position) ? exact_bytes : code_bytes;
  }
  size_t n_scales_at(uint32_t position) const { return is_exact_at(position) ? 0 : n_scales; }
};

struct KvLayer {
  uint32_t n_kv_heads;
  uint32_t head_dim;
  KvSide keys;
  KvSide values;
  size_t centre_begin;  // of the centres, [n_kv_heads][head_dim] floats, within the beginning

  bool is_centred_at(const KvSide& side, uint32_t position) const {
    return &side == &keys && keys.kind->has_integer_codes && position >= kExactPositions;
  }
};

// Not for use from several threads at once.
class KvStore {
 public:
  // Allocates all memory of the store. Errors: invalid_argument (a size of 0), out_of_memory.
  static Result<std::shared_ptr<KvStore>> create(const KvStoreConfig& config);

  // The bytes that create() would allocate; UINT64_MAX if they cannot be counted or addressed.
  static uint64_t bytes_of(const KvStoreConfig& config);

  const KvStoreConfig& config() const { return config_; }
  const std::vector<KvLayer>& layers() const { return layers_; }  // as config().rows
  uint64_t bytes() const { return memory_.size(); }

  // Bytes of a sequence's beginning: the exact rows and the centres of all layers. 0: there is
  // none.
  size_t beginning_bytes() const { return beginning_bytes_; }
  static uint64_t beginning_bytes_of(const KvStoreConfig& config);

  // --- Pages ------------------------------------------------------------------------------------

  uint32_t n_free() const { return pool_.n_free(); }
  uint32_t n_used() const { return config_.n_pages - n_free(); }

  // The number of sequences that a page belongs to; 0: the page is free.
  uint32_t n_users(uint32_t page) const { return pool_.n_users(page); }

  // The number of shared pages that were copied because one of their users wrote to them.
  uint64_t n_page_copies() const { return n_page_copies_; }

  size_t page_bytes() const { return page_bytes_; }
  std::byte* page(uint32_t page) { return memory_.data() + page * page_bytes_; }

  // --- For sequences. Who takes a page must know that one is free -------------------------------

  uint32_t take_page() { return pool_.take(); }

  // Takes a page and copies `page` of `from` into it. Both stores have the same configuration.
  uint32_t take_copy(const KvStore& from, uint32_t page);

  // Takes a page with a copy of the shared `page`, which loses one user.
  uint32_t own_page(uint32_t page);

  void share_page(uint32_t page) { pool_.share(page); }
  void release_page(uint32_t page) { pool_.release(page); }

 private:
  explicit KvStore(const KvStoreConfig& config) : config_(config), pool_(config.n_pages) {}

  KvStoreConfig config_;
  std::vector<KvLayer> layers_;
  size_t page_bytes_ = 0;
  size_t beginning_bytes_ = 0;
  AlignedBuffer memory_;
  PagePool pool_;
  uint64_t n_page_copies_ = 0;
};

}  // namespace kinglet
