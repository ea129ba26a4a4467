// Memory for keys and values, in pages that sequences share; a KvCache is a sequence in it.
//
// A page holds page_positions positions of every layer: for each one the keys' codes
// [n_kv_heads][page_positions][code bytes], their scales [n_kv_heads][page_positions][scales], then
// the values, either side beginning on a cache line. Attention reads one head at a time, whose rows
// therefore follow each other: with the heads of a position side by side, decoding at 2,048
// positions took twice as long.
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

struct KvStoreConfig {
  std::vector<RowShape> rows = {};  // of the layers that have keys and values
  KvKind k_kind = KvKind::f32;
  KvKind v_kind = KvKind::f32;
  uint32_t page_positions = 0;
  uint32_t n_pages = 0;  // 1: the store is in one piece

  // What a position costs, without the padding of pages.
  uint64_t bytes_per_position() const;
  // What it would cost in F32, over that; 1 where it costs nothing.
  double compression() const;
};

// The keys or the values of one layer within a page.
struct KvSide {
  const KvKindInfo* kind;
  size_t code_bytes;    // of a row
  size_t n_scales;      // the same
  size_t codes_begin;   // bytes from where the page begins
  size_t scales_begin;  // the same
};

struct KvLayer {
  uint32_t n_kv_heads;
  uint32_t head_dim;
  KvSide keys;
  KvSide values;
};

// Not for use from several threads at once.
class KvStore {
 public:
  // Everything is allocated here. ErrorCode::invalid_argument (a size of 0), out_of_memory.
  static Result<std::shared_ptr<KvStore>> create(const KvStoreConfig& config);

  const KvStoreConfig& config() const { return config_; }
  const std::vector<KvLayer>& layers() const { return layers_; }  // those of config().rows
  uint64_t bytes() const { return memory_.size(); }

  // --- Pages ------------------------------------------------------------------------------------

  uint32_t n_free() const { return pool_.n_free(); }
  uint32_t n_used() const { return config_.n_pages - n_free(); }

  // Sequences that a page belongs to; 0: it is free.
  uint32_t n_users(uint32_t page) const { return pool_.n_users(page); }

  // Shared pages that were copied for one who wrote, since the store was made.
  uint64_t n_page_copies() const { return n_page_copies_; }

  size_t page_bytes() const { return page_bytes_; }
  std::byte* page(uint32_t page) { return memory_.data() + page * page_bytes_; }

  // --- For sequences. Who takes a page must know that one is free -------------------------------

  uint32_t take_page() { return pool_.take(); }

  // A page with what one of `from` holds, which is a store of the same configuration.
  uint32_t take_copy(const KvStore& from, uint32_t page);

  // A page of one user with what the shared `page` holds, which loses a user.
  uint32_t own_page(uint32_t page);

  void share_page(uint32_t page) { pool_.share(page); }
  void release_page(uint32_t page) { pool_.release(page); }

 private:
  explicit KvStore(const KvStoreConfig& config) : config_(config), pool_(config.n_pages) {}

  KvStoreConfig config_;
  std::vector<KvLayer> layers_;
  size_t page_bytes_ = 0;
  AlignedBuffer memory_;
  PagePool pool_;
  uint64_t n_page_copies_ = 0;
};

}  // namespace kinglet
