#include "kv/kv_cache.h"

#include <algorithm>
#include <utility>

#include "base/format.h"

namespace kinglet {

KvStoreConfig contiguous_store(const KvCacheConfig& config) {
  return {.n_layers = config.n_layers,
          .n_kv_heads = config.n_kv_heads,
          .head_dim = config.head_dim,
          .k_kind = config.k_kind,
          .v_kind = config.v_kind,
          .page_positions = config.capacity,
          .n_pages = 1,
          .reject_not_finite = config.reject_not_finite};
}

Result<KvCache> KvCache::create(const KvCacheConfig& config) {
  KINGLET_ASSIGN(auto store, KvStore::create(contiguous_store(config)));
  return create_in(std::move(store), config.capacity);
}

Result<KvCache> KvCache::create_in(std::shared_ptr<KvStore> store, uint32_t capacity) {
  KINGLET_ASSIGN(const SequenceId id, store->allocate(0));
  return KvCache(std::move(store), id, capacity);
}

KvCache::KvCache(std::shared_ptr<KvStore> store, SequenceId id, uint32_t capacity)
    : store_(std::move(store)),
      id_(id),
      capacity_(capacity),
      n_reserved_(store_->n_positions(id)),
      pushed_(store_->config().n_layers),
      key_(store_->config().head_dim) {}

KvCache& KvCache::operator=(KvCache&& other) noexcept {
  std::swap(store_, other.store_);
  std::swap(id_, other.id_);
  std::swap(capacity_, other.capacity_);
  std::swap(n_reserved_, other.n_reserved_);
  std::swap(pushed_, other.pushed_);
  std::swap(key_, other.key_);
  return *this;
}

KvCache::~KvCache() {
  if (store_ != nullptr) (void)store_->free(id_);
}

Result<KvCache> KvCache::fork() const {
  if (store_->config().n_pages > 1) {
    KINGLET_ASSIGN(const SequenceId id, store_->fork(id_));
    return KvCache(store_, id, capacity_);
  }
  KINGLET_ASSIGN(auto store, store_->clone());
  return KvCache(std::move(store), id_, capacity_);
}

Status KvCache::reserve(uint32_t n_positions) {
  const uint32_t n_used = size();
  if (n_positions > capacity_ - n_used) {
    return Error{ErrorCode::context_full,
                 cat("the context is full: it holds ", n_used, " of ", capacity_, " positions, ",
                     n_positions, " more do not fit")};
  }
  KINGLET_TRY(store_->reserve(id_, n_used + n_positions));
  n_reserved_ = std::max(n_reserved_, n_used + n_positions);
  return {};
}

Status KvCache::push(uint32_t layer, std::span<const float> k, std::span<const float> v) {
  if (layer >= pushed_.size()) {
    return Error{ErrorCode::invalid_argument,
                 cat("KV cache: layer ", layer, " of ", pushed_.size(), " does not exist")};
  }
  KINGLET_TRY(store_->check_widths(k, v));
  const uint32_t position = size() + pushed_[layer];
  if (position >= n_reserved_) KINGLET_TRY(reserve(pushed_[layer] + 1));
  KINGLET_TRY(store_->write(id_, layer, position, k, v));
  ++pushed_[layer];
  return {};
}

Status KvCache::commit() {
  if (pushed_.empty()) return store_->record(id_, n_reserved_ - size());
  const auto [fewest, most] = std::minmax_element(pushed_.begin(), pushed_.end());
  if (*fewest != *most) {
    return Error{
        ErrorCode::invalid_argument,
        cat("KV cache: a step pushed ", *fewest, " positions onto layer ", fewest - pushed_.begin(),
            " but ", *most, " onto layer ", most - pushed_.begin())};
  }
  KINGLET_TRY(store_->record(id_, *fewest));
  std::fill(pushed_.begin(), pushed_.end(), 0);
  n_reserved_ = size();  // a fork may share the last page from now on
  return {};
}

void KvCache::rollback() { (void)truncate(size()); }

Status KvCache::truncate(uint32_t n_positions) {
  KINGLET_TRY(store_->truncate(id_, n_positions));
  std::fill(pushed_.begin(), pushed_.end(), 0);
  n_reserved_ = n_positions;
  return {};
}

Status KvCache::overwrite(uint32_t n_positions) {
  rollback();
  const uint32_t n_used = size();
  if (n_positions > n_used) KINGLET_TRY(reserve(n_positions - n_used));
  if (Status status = unshare(0); !status.ok()) {
    rollback();
    return status;
  }
  if (n_positions <= n_used) return truncate(n_positions);
  return store_->record(id_, n_positions - n_used);
}

Status KvCache::prepare_drop(uint32_t first, uint32_t n) {
  if (first > size() || n > size() - first) {
    return Error{ErrorCode::invalid_argument, cat("KV cache: cannot drop ", n, " positions from ",
                                                  first, " on, it holds ", size())};
  }
  rollback();
  return unshare(first);
}

}  // namespace kinglet
