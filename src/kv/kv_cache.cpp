#include "kv/kv_cache.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/bit_cast.h"
#include "base/format.h"

namespace kinglet {
namespace {

Status check_length(std::string_view what, size_t found, size_t expected) {
  if (found == expected) return {};
  return Error{ErrorCode::invalid_argument,
               cat("KV cache: ", what, " has ", found, " elements, expected ", expected)};
}

bool is_finite(std::span<const float> row) {
  constexpr uint32_t kExponent = 0x7f800000u;
  uint32_t n_bad = 0;
  for (const float x : row) n_bad += (bit_cast<uint32_t>(x) & kExponent) == kExponent;
  return n_bad == 0;
}

}  // namespace

KvCache::KvCache(std::shared_ptr<KvStore> store, uint32_t capacity)
    : store_(std::move(store)), capacity_(capacity), pushed_(store_->layers().size()) {
  pages_.reserve(std::min(store_->config().n_pages, pages_for(capacity)));  // no step allocates
}

// One that was moved from has no pages.
KvCache::~KvCache() {
  for (const uint32_t page : pages_) store_->release_page(page);
}

Result<KvCache> KvCache::fork() const {
  const bool shares = store_->config().n_pages > 1;
  std::shared_ptr<KvStore> store = store_;
  if (!shares) {
    KINGLET_ASSIGN(store, KvStore::create(store_->config()));
  }
  KvCache forked(store, capacity_);
  for (const uint32_t page : pages().first(pages_for(size_))) {
    if (shares) store->share_page(page);
    forked.pages_.push_back(shares ? page : store->take_copy(*store_, page));
  }
  forked.set_size(size_);
  return forked;
}

uint32_t KvCache::pages_for(uint64_t n_positions) const {
  const uint32_t of_page = store_->config().page_positions;
  return static_cast<uint32_t>((n_positions + of_page - 1) / of_page);
}

Status KvCache::check_room(uint64_t n_positions) const {
  if (n_positions <= capacity_) return {};
  return Error{ErrorCode::context_full,
               cat("the context is full: it holds ", size_, " of ", capacity_, " positions, ",
                   n_positions - size_, " more do not fit")};
}

// Makes the pages [first, end) of the sequence its own: takes those that it does not have, copies
// those that are shared. All or nothing.
Status KvCache::take_pages(uint32_t first, uint32_t end) {
  const auto n_had = static_cast<uint32_t>(pages_.size());
  const auto is_shared = [&](uint32_t i) { return store_->n_users(pages_[i]) > 1; };
  uint32_t n_needed = end > n_had ? end - n_had : 0;
  for (uint32_t i = first; i < std::min(end, n_had); ++i) n_needed += is_shared(i) ? 1 : 0;
  if (n_needed > store_->n_free()) {
    return Error{ErrorCode::out_of_memory,
                 cat("KV cache: ", n_needed, " pages of ", store_->config().page_positions,
                     " positions are needed, ", store_->n_free(), " are available")};
  }
  for (uint32_t i = first; i < std::min(end, n_had); ++i) {
    if (is_shared(i)) pages_[i] = store_->own_page(pages_[i]);
  }
  while (pages_.size() < end) pages_.push_back(store_->take_page());
  return {};
}

// Forgets what was pushed, and gives back the pages that n_positions do not need.
void KvCache::set_size(uint32_t n_positions) {
  const uint32_t n_kept = std::min(pages_for(n_positions), static_cast<uint32_t>(pages_.size()));
  for (size_t i = n_kept; i < pages_.size(); ++i) store_->release_page(pages_[i]);
  pages_.resize(n_kept);
  size_ = n_positions;
  n_reserved_ = n_positions;  // a fork may share the last page from now on
  std::fill(pushed_.begin(), pushed_.end(), 0);
}

// --- Steps --------------------------------------------------------------------------------------

Status KvCache::reserve(uint32_t n_positions) {
  const uint64_t n = uint64_t{size_} + n_positions;
  KINGLET_TRY(check_room(n));
  KINGLET_TRY(take_pages(size_ / store_->config().page_positions, pages_for(n)));
  n_reserved_ = std::max(n_reserved_, static_cast<uint32_t>(n));
  return {};
}

Status KvCache::push(uint32_t layer, std::span<const float> k, std::span<const float> v) {
  if (layer >= pushed_.size()) {
    return Error{ErrorCode::invalid_argument,
                 cat("KV cache: layer ", layer, " of ", pushed_.size(), " does not exist")};
  }
  const KvLayer& to = store_->layers()[layer];
  const size_t width = size_t{to.n_kv_heads} * to.head_dim;
  KINGLET_TRY(check_length("a key", k.size(), width));
  KINGLET_TRY(check_length("a value", v.size(), width));
  const uint32_t position = size_ + pushed_[layer];
  if (position >= n_reserved_) KINGLET_TRY(reserve(pushed_[layer] + 1));
  KINGLET_TRY(write(to.keys, layer, position, k));
  KINGLET_TRY(write(to.values, layer, position, v));
  ++pushed_[layer];
  return {};
}

Status KvCache::write(const KvSide& side, uint32_t layer, uint32_t position,
                      std::span<const float> rows) {
  const KvLayer& of = store_->layers()[layer];
  for (uint32_t head = 0; head < of.n_kv_heads; ++head) {
    const auto values = rows.subspan(size_t{head} * of.head_dim, of.head_dim);
    if (!is_finite(values)) {
      return Error{ErrorCode::not_finite,
                   cat("KV cache: the ", &side == &of.keys ? "key" : "value", " of layer ", layer,
                       ", position ", position, ", head ", head, " holds NaN or infinity")};
    }
    const Row to = row(side, position, head);
    side.kind->write_row(values.data(), values.size(), to.codes, to.scales);
  }
  return {};
}

Status KvCache::commit() {
  if (pushed_.empty()) {
    set_size(n_reserved_);
    return {};
  }
  const auto [fewest, most] = std::minmax_element(pushed_.begin(), pushed_.end());
  if (*fewest != *most) {
    return Error{
        ErrorCode::invalid_argument,
        cat("KV cache: a step pushed ", *fewest, " positions onto layer ", fewest - pushed_.begin(),
            " but ", *most, " onto layer ", most - pushed_.begin())};
  }
  set_size(size_ + *fewest);
  return {};
}

KvView KvCache::view(uint32_t layer, uint32_t head) const {
  const KvLayer& of = store_->layers()[layer];
  const std::byte* first_page = store_->page(0);
  const size_t first_row = size_t{head} * store_->config().page_positions;
  const auto in = [&](const KvSide& side) -> KvHead {
    const auto* scales = reinterpret_cast<const float*>(first_page + side.scales_begin);
    return {side.kind->kind,
            {first_page + side.codes_begin + first_row * side.code_bytes, side.code_bytes,
             scales + first_row * side.n_scales, side.n_scales}};
  };
  return {in(of.keys), in(of.values), pages_.data(), store_->config().page_positions,
          store_->page_bytes()};
}

// --- Committed positions ------------------------------------------------------------------------

Status KvCache::truncate(uint32_t n_positions) {
  if (n_positions > size_) {
    return Error{ErrorCode::invalid_argument,
                 cat("KV cache: cannot truncate to ", n_positions, " positions, it holds ", size_)};
  }
  set_size(n_positions);
  return {};
}

Status KvCache::unshare(uint32_t first) {
  return take_pages(first / store_->config().page_positions, static_cast<uint32_t>(pages_.size()));
}

Status KvCache::drop(uint32_t first, uint32_t n) {
  if (first > size_ || n > size_ - first) {
    return Error{ErrorCode::invalid_argument, cat("KV cache: cannot drop ", n, " positions from ",
                                                  first, " on, it holds ", size_)};
  }
  rollback();
  KINGLET_TRY(unshare(first));
  for (uint32_t from = first + n; from < size_; ++from) copy_position(from, from - n);
  set_size(size_ - n);
  return {};
}

Status KvCache::overwrite(uint32_t n_positions) {
  rollback();
  KINGLET_TRY(check_room(n_positions));
  KINGLET_TRY(take_pages(0, pages_for(n_positions)));
  set_size(n_positions);
  return {};
}

KvCache::Row KvCache::row(const KvSide& side, uint32_t position, uint32_t head) const {
  const uint32_t of_page = store_->config().page_positions;
  std::byte* page = store_->page(pages_[position / of_page]);
  const size_t index = size_t{head} * of_page + position % of_page;
  auto* scales = reinterpret_cast<float*>(page + side.scales_begin);
  return {page + side.codes_begin + index * side.code_bytes, scales + index * side.n_scales};
}

void KvCache::copy_position(uint32_t from, uint32_t to) {
  for (const KvLayer& layer : store_->layers()) {
    for (uint32_t head = 0; head < layer.n_kv_heads; ++head) {
      for (const KvSide* side : {&layer.keys, &layer.values}) {
        const Row source = row(*side, from, head);
        const Row target = row(*side, to, head);
        std::memcpy(target.codes, source.codes, side->code_bytes);
        std::copy_n(source.scales, side->n_scales, target.scales);
      }
    }
  }
}

}  // namespace kinglet
