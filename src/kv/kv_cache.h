// The keys and values of every position that a sequence has seen: what lets a step compute only its
// own tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernels/attention.h"
#include "kv/kv_store.h"

namespace kinglet {

// A sequence in a store: the pages that hold its positions, in their order. A page belongs to one
// sequence or to several that share a beginning; it is copied when one of them writes into it.
//
// A step pushes the keys and values of its positions onto every layer and then commits them all; a
// step that fails calls rollback(), and the cache is as it was. Nothing is allocated by steps.
//
// `layer` is one of the store's layers, `head` one of its heads.
class KvCache {
 public:
  // An empty sequence in a store that others may use too, for at most `capacity` positions.
  KvCache(std::shared_ptr<KvStore> store, uint32_t capacity);
  ~KvCache();

  KvCache(KvCache&&) noexcept = default;
  KvCache& operator=(KvCache&&) = delete;

  // Another cache that begins with the same positions. In a store of several pages both share them;
  // one in one piece is copied. ErrorCode::out_of_memory.
  Result<KvCache> fork() const;

  const KvStore& store() const { return *store_; }
  uint32_t capacity() const { return capacity_; }
  uint32_t size() const { return size_; }  // committed positions
  std::span<const uint32_t> pages() const { return pages_; }

  // --- Steps ------------------------------------------------------------------------------------

  // Takes the pages for n positions more, so that pushing them cannot fail for want of room.
  // ErrorCode::context_full, or out_of_memory where other sequences use up the store, which tells
  // the pages that are needed and available; nothing has changed then.
  Status reserve(uint32_t n_positions);

  // Appends one position to a layer: k and v are [n_kv_heads * head_dim]. Checks k's length, v's
  // length, then room, and says which one failed. ErrorCode::not_finite for NaN and infinity: the
  // weights are damaged, and no text should look right.
  Status push(uint32_t layer, std::span<const float> k, std::span<const float> v);

  // Makes what every layer has been given part of the cache; without layers, what was reserved.
  // ErrorCode::invalid_argument where the layers were given different numbers of positions; nothing
  // is committed then.
  Status commit();

  // Forgets what was pushed since the last commit.
  void rollback() { set_size(size_); }

  // Where attention finds a head, pushed positions included; until the next change of the cache.
  KvView view(uint32_t layer, uint32_t head) const;

  // --- Committed positions ----------------------------------------------------------------------

  // Forgets positions from n_positions on. ErrorCode::invalid_argument past the end.
  Status truncate(uint32_t n_positions);

  // Makes positions from `first` on writable. ErrorCode::out_of_memory where shared pages cannot be
  // copied; nothing has changed then.
  Status unshare(uint32_t first);

  // Drops the positions [first, first + n) and moves later ones down, codes and all.
  // ErrorCode::invalid_argument past the end; out_of_memory where shared pages cannot be copied;
  // nothing has changed then.
  Status drop(uint32_t first, uint32_t n);

  // Calls f(key) with each key of a layer from position `first` on, as floats [head_dim] that it
  // changes, and stores them again. The positions must be writable.
  template <class F>
  void rewrite_keys(uint32_t layer, uint32_t first, const F& f) {
    const KvLayer& of = store_->layers()[layer];
    std::vector<float> key(of.head_dim);
    for (uint32_t head = 0; head < of.n_kv_heads; ++head) {
      for (uint32_t position = first; position < size_; ++position) {
        const Row to = row(of.keys, position, head);
        of.keys.kind->read_row(to.codes, to.scales, 0, key.size(), key.data());
        f(key.data());
        of.keys.kind->write_row(key.data(), key.size(), to.codes, to.scales);
      }
    }
  }

  // Makes the cache n positions long, all of them its own to write through for_each_row.
  // ErrorCode::context_full, out_of_memory; nothing has changed then.
  Status overwrite(uint32_t n_positions);

  // Calls f(codes, scales) with each row as it is stored (see kv_kind.h): position by position, for
  // each layer and head the key, then the value. They must be writable to be written to.
  template <class F>
  void for_each_row(const F& f) const {
    for (uint32_t position = 0; position < size_; ++position) {
      for (const KvLayer& layer : store_->layers()) {
        for (uint32_t head = 0; head < layer.n_kv_heads; ++head) {
          for (const KvSide* side : {&layer.keys, &layer.values}) {
            const Row found = row(*side, position, head);
            f(std::span(found.codes, side->code_bytes), std::span(found.scales, side->n_scales));
          }
        }
      }
    }
  }

 private:
  struct Row {
    std::byte* codes;
    float* scales;
  };

  uint32_t pages_for(uint64_t n_positions) const;
  Status check_room(uint64_t n_positions) const;
  Status take_pages(uint32_t first, uint32_t end);
  void set_size(uint32_t n_positions);
  Row row(const KvSide& side, uint32_t position, uint32_t head) const;
  Status write(const KvSide& side, uint32_t layer, uint32_t position, std::span<const float> rows);
  void copy_position(uint32_t from, uint32_t to);

  std::shared_ptr<KvStore> store_;
  uint32_t capacity_;
  uint32_t size_ = 0;
  uint32_t n_reserved_ = 0;       // positions with pages, its own from size_ on
  std::vector<uint32_t> pages_;   // those of n_reserved_ positions
  std::vector<uint32_t> pushed_;  // [layers]: positions pushed since the last commit
};

}  // namespace kinglet
