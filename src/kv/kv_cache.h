// The keys and values of every position that a session has seen: what lets a step compute only its
// own tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernels/attention.h"
#include "kv/kv_store.h"

namespace kinglet {

struct KvCacheConfig {
  uint32_t n_layers = 0;
  uint32_t n_kv_heads = 0;
  uint32_t head_dim = 0;
  uint32_t capacity = 0;  // positions
  KvKind k_kind = KvKind::f32;
  KvKind v_kind = KvKind::f32;
  bool reject_not_finite = kRejectNotFinite;
};

// A store in one piece: one page of `capacity` positions.
KvStoreConfig contiguous_store(const KvCacheConfig& config);

// One sequence in a store, freed when this is destroyed.
//
// A step pushes the keys and values of its positions onto every layer and then commits them all; a
// step that fails calls rollback(), and the cache is as it was. Nothing is allocated by steps.
class KvCache {
 public:
  // Contiguous, with a store of its own. ErrorCode::invalid_argument (a size of 0), out_of_memory.
  static Result<KvCache> create(const KvCacheConfig& config);

  // An empty sequence in a store that others may use too, for at most `capacity` positions.
  static Result<KvCache> create_in(std::shared_ptr<KvStore> store, uint32_t capacity);

  KvCache(KvCache&&) noexcept = default;
  KvCache& operator=(KvCache&& other) noexcept;
  ~KvCache();

  // Another cache that begins with the same positions. In a store of several pages both share them;
  // a contiguous one is copied. ErrorCode::out_of_memory.
  Result<KvCache> fork() const;

  const KvStore& store() const { return *store_; }
  uint32_t capacity() const { return capacity_; }
  uint32_t size() const { return store_->n_positions(id_); }  // committed positions
  uint64_t bytes() const { return store_->bytes(); }          // of the whole store
  std::span<const uint32_t> pages() const { return store_->pages(id_); }

  // Takes the pages for n positions more, so that pushing them cannot fail for want of room.
  // ErrorCode::context_full, or out_of_memory where other sequences use up the store.
  Status reserve(uint32_t n_positions);

  // Appends one position to a layer: k and v are [n_kv_heads * head_dim]. Checks k's length, v's
  // length, then room, and says which one failed. ErrorCode::not_finite: see KvStoreConfig.
  Status push(uint32_t layer, std::span<const float> k, std::span<const float> v);

  // Makes what every layer has been given part of the cache; without layers, what was reserved.
  // ErrorCode::invalid_argument where the layers were given different numbers of positions; nothing
  // is committed then.
  Status commit();

  // Forgets what was pushed since the last commit.
  void rollback();

  // Forgets positions from n_positions on. ErrorCode::invalid_argument past the end.
  Status truncate(uint32_t n_positions);
  void clear() { (void)truncate(0); }

  // Drops the positions [first, first + n), moving later ones down, in which `rotate` turns each
  // key to its new position: it is given the floats [head_dim] of one head. Values keep their
  // codes. ErrorCode::invalid_argument past the end; out_of_memory where shared pages cannot be
  // copied; nothing has changed then.
  template <class F>
  Status drop(uint32_t first, uint32_t n, const F& rotate) {
    KINGLET_TRY(prepare_drop(first, n));
    const uint32_t n_kept = size() - n;
    const KvStoreConfig& config = store_->config();
    for (uint32_t to = first; to < n_kept; ++to) {
      store_->copy_position(id_, to + n, to);
      for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
        for (uint32_t head = 0; head < config.n_kv_heads; ++head) {
          KINGLET_TRY(store_->read_key(id_, layer, to, head, key_));
          if (rotate(layer, std::span<float>(key_))) {
            store_->rewrite_key(id_, layer, to, head, key_);
          }
        }
      }
    }
    return truncate(n_kept);
  }

  // One committed row, as floats [head_dim]. ErrorCode::invalid_argument for a layer, a position or
  // a head that does not exist.
  Status read_key(uint32_t layer, uint32_t position, uint32_t head, std::span<float> out) const {
    return store_->read_key(id_, layer, position, head, out);
  }
  Status read_value(uint32_t layer, uint32_t position, uint32_t head, std::span<float> out) const {
    return store_->read_value(id_, layer, position, head, out);
  }

  // Calls f with each row of the positions [0, n), key and value, position by position, as it is
  // stored: f(kind, codes, scales), of head_dim elements. They must be writable to be written to.
  template <class F>
  void for_each_row(uint32_t n, const F& f) const {
    const KvStoreConfig& config = store_->config();
    for (uint32_t position = 0; position < n; ++position) {
      for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
        for (uint32_t head = 0; head < config.n_kv_heads; ++head) {
          const KvStore::Row key = store_->key_row(id_, layer, position, head);
          f(kv_kind_info(config.k_kind), key.codes, key.scales);
          const KvStore::Row value = store_->value_row(id_, layer, position, head);
          f(kv_kind_info(config.v_kind), value.codes, value.scales);
        }
      }
    }
  }

  // Makes committed positions from `first` on writable. ErrorCode::out_of_memory where shared pages
  // cannot be copied; nothing has changed then.
  Status unshare(uint32_t first) { return store_->unshare(id_, first); }

  // Makes the cache n positions long, all of them its own to write through for_each_row.
  // ErrorCode::context_full, out_of_memory; nothing has changed then.
  Status overwrite(uint32_t n_positions);

  // The rows of one head, pushed ones included, until the next change of the cache.
  KvView view(uint32_t layer, uint32_t head) const { return store_->view(id_, layer, head); }

 private:
  KvCache(std::shared_ptr<KvStore> store, SequenceId id, uint32_t capacity);

  Status prepare_drop(uint32_t first, uint32_t n);

  std::shared_ptr<KvStore> store_;
  SequenceId id_ = 0;
  uint32_t capacity_ = 0;
  uint32_t n_reserved_ = 0;       // positions with pages of their own
  std::vector<uint32_t> pushed_;  // [n_layers]: positions pushed since the last commit
  std::vector<float> key_;        // [head_dim]
};

}  // namespace kinglet
