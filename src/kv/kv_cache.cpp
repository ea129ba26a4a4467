#include "kv/kv_cache.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/bit_cast.h"
#include "base/checked.h"
#include "base/format.h"
#include "kv/checkpoints.h"

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

// Reserves room in the vectors, so that no step allocates memory.
KvCache::KvCache(std::shared_ptr<KvStore> store, uint32_t capacity, uint32_t window)
    : store_(std::move(store)),
      capacity_(capacity),
      pushed_(store_->layers().size()),
      window_(window) {
  const uint32_t n_most = pages_for(capacity);
  pages_.reserve(window == 0 ? std::min(store_->config().n_pages, n_most) : n_most);
  if (window > 0) checkpoints_.reserve(kMostCheckpoints + 1);
}

// A cache that was moved from has no pages.
KvCache::~KvCache() {
  for (const uint32_t page : pages_) {
    if (page != kNoPage) store_->release_page(page);
  }
}

Result<KvCache> KvCache::fork() const {
  const bool shares = store_->config().n_pages > 1 && window_ == 0;
  std::shared_ptr<KvStore> store = store_;
  if (!shares) {
    KINGLET_ASSIGN(store, KvStore::create(store_->config()));
  }
  KvCache forked(store, capacity_, window_);
  for (const uint32_t page : pages().first(pages_for(size_))) {
    if (shares) store->share_page(page);
    const bool copies = !shares && page != kNoPage;
    forked.pages_.push_back(copies ? store->take_copy(*store_, page) : page);
  }
  for (const uint32_t place : checkpoints_) forked.checkpoints_.push_back(place);
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

// Makes the pages [first, end) the sequence's own: copies shared pages, and takes new pages after
// the last one. If too few pages are free, it copies and takes none.
Status KvCache::take_pages(uint32_t first, uint32_t end) {
  const auto n_had = static_cast<uint32_t>(pages_.size());
  const auto is_shared = [&](uint32_t i) {
    return pages_[i] != kNoPage && store_->n_users(pages_[i]) > 1;
  };
  uint32_t n_needed = end > n_had ? end - n_had : 0;
  for (uint32_t i = first; i < std::min(end, n_had); ++i) n_needed += is_shared(i) ? 1 : 0;
  make_room(n_needed);
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
  for (size_t i = n_kept; i < pages_.size(); ++i) {
    if (pages_[i] != kNoPage) store_->release_page(pages_[i]);
  }
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

Result<uint32_t> KvCache::n_pushed() const {
  if (pushed_.empty()) return n_reserved_ - size_;
  const auto [fewest, most] = std::minmax_element(pushed_.begin(), pushed_.end());
  if (*fewest != *most) {
    return Error{
        ErrorCode::invalid_argument,
        cat("KV cache: a step pushed ", *fewest, " positions onto layer ", fewest - pushed_.begin(),
            " but ", *most, " onto layer ", most - pushed_.begin())};
  }
  return *fewest;
}

Status KvCache::commit() {
  KINGLET_ASSIGN(const uint32_t n, n_pushed());
  set_size(size_ + n);
  give_back();
  return {};
}

Status KvCache::commit(uint32_t n) {
  for (const uint32_t n_pushed : pushed_) {
    if (n > n_pushed) {
      return Error{ErrorCode::invalid_argument,
                   cat("KV cache: cannot commit ", n, " positions, a layer was given ", n_pushed)};
    }
  }
  size_ += n;
  for (uint32_t& n_pushed : pushed_) n_pushed -= n;
  give_back();
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
  while (!checkpoints_.empty() && checkpoints_.back() > n_positions) checkpoints_.pop_back();
  if (pinned_ > n_positions) pinned_ = kNowhere;
  set_size(n_positions);
  return {};
}

Status KvCache::unshare(uint32_t first) {
  return take_pages(first / store_->config().page_positions, static_cast<uint32_t>(pages_.size()));
}

// The first position that is stored after drop(first, n), of the positions that are left after
// forget_places().
uint32_t KvCache::first_position_after_drop(uint32_t first, uint32_t n) const {
  const uint32_t source = std::max(first_position(), first_kept(window_, size_, kWindowSpare));
  if (source <= first) return source;
  const uint32_t begin = std::max(first, source - std::min(n, source));
  return static_cast<uint32_t>(round_up(begin, kWindowPage));
}

bool KvCache::can_drop(uint32_t first, uint32_t n) const {
  if (window_ == 0) return true;
  const uint32_t begin = first_position_after_drop(first, n);
  return begin == 0 || begin <= first_seen(window_, size_ - n);
}

// Takes the pages that drop() moves the rows to, n positions down: those from `begin` on. The store
// has room for them, although it then holds the next token's window twice.
Status KvCache::take_pages_for_drop(uint32_t begin, uint32_t n) {
  const uint32_t first = begin / kWindowPage;
  const uint32_t end = pages_for(size_ - n);
  forget_places();
  give_back();
  give_back_before(std::min(begin, first_position()) / kWindowPage);
  uint32_t n_needed = 0;
  for (uint32_t i = first; i < end; ++i) n_needed += pages_[i] == kNoPage ? 1 : 0;
  if (n_needed > store_->n_free()) {
    return Error{ErrorCode::out_of_memory, cat("KV cache: ", n_needed, " pages are needed, ",
                                               store_->n_free(), " are available")};
  }
  for (uint32_t i = first; i < end; ++i) {
    if (pages_[i] == kNoPage) pages_[i] = store_->take_page();
  }
  return {};
}

Status KvCache::drop(uint32_t first, uint32_t n) {
  if (first > size_ || n > size_ - first) {
    return Error{ErrorCode::invalid_argument, cat("KV cache: cannot drop ", n, " positions from ",
                                                  first, " on, it holds ", size_)};
  }
  if (!can_drop(first, n)) {
    return Error{ErrorCode::invalid_argument,
                 cat("KV cache: positions before ", first, " are no longer stored")};
  }
  rollback();
  const uint32_t begin = window_ == 0 ? 0 : first_position_after_drop(first, n);
  KINGLET_TRY(window_ == 0 ? unshare(first) : take_pages_for_drop(begin, n));
  for (uint32_t to = std::max(first, begin); to + n < size_; ++to) copy_position(to + n, to);
  if (window_ > 0) give_back_before(begin / kWindowPage);
  set_size(size_ - n);
  give_back();
  return {};
}

Status KvCache::overwrite(uint32_t n_positions, uint32_t n_spare) {
  rollback();
  KINGLET_TRY(check_room(n_positions));
  if (window_ > 0) {
    set_size(0);
    forget_places();
    pages_.resize(first_kept(window_, n_positions, n_spare) / kWindowPage, kNoPage);
  }
  KINGLET_TRY(take_pages(0, pages_for(n_positions)));
  set_size(n_positions);
  return {};
}

// --- Windows ------------------------------------------------------------------------------------

// Whether the end, the pinned place or a checkpoint needs the page.
bool KvCache::is_needed(uint32_t page) const {
  const auto keeps = [&](uint32_t place) {
    return place != kNowhere && page < pages_for(place) &&
           page >= first_kept(window_, place, kWindowSpare) / kWindowPage;
  };
  return keeps(size_) || keeps(pinned_) ||
         std::any_of(checkpoints_.begin(), checkpoints_.end(), keeps);
}

void KvCache::give_back() {
  if (window_ == 0) return;
  for (uint32_t i = 0; i < pages_for(size_); ++i) {  // the pages after them belong to a step
    if (pages_[i] == kNoPage || is_needed(i)) continue;
    store_->release_page(pages_[i]);
    pages_[i] = kNoPage;
  }
}

void KvCache::give_back_before(uint32_t page) {
  for (uint32_t i = 0; i < page; ++i) {
    if (pages_[i] != kNoPage) store_->release_page(pages_[i]);
    pages_[i] = kNoPage;
  }
}

// Gives up checkpoints until n_pages are free, or no checkpoint is left.
void KvCache::make_room(uint32_t n_pages) {
  while (store_->n_free() < n_pages && !checkpoints_.empty()) drop_checkpoint();
}

void KvCache::drop_checkpoint() {
  const size_t least =
      least_missed(checkpoints_.size(), size_, [&](size_t i) { return checkpoints_[i]; });
  checkpoints_.erase(checkpoints_.begin() + static_cast<ptrdiff_t>(least));
  give_back();
}

void KvCache::forget_places() {
  checkpoints_.clear();
  pinned_ = kNowhere;
}

void KvCache::add_checkpoint() {
  if (window_ == 0 || size_ == 0) return;
  if (!checkpoints_.empty() && checkpoints_.back() == size_) return;
  checkpoints_.push_back(size_);
  if (checkpoints_.size() > kMostCheckpoints) drop_checkpoint();
}

void KvCache::pin() {
  if (window_ == 0) return;
  pinned_ = size_;
  give_back();
}

void KvCache::unpin() {
  pinned_ = kNowhere;
  give_back();
}

uint32_t KvCache::reachable(uint32_t n_positions) const {
  uint32_t place = std::min(n_positions, size_);
  if (window_ == 0 || place == size_) return place;
  while (place > 0) {
    const uint32_t first_page = first_seen(window_, place) / kWindowPage;
    uint32_t page = pages_for(place);
    while (page > first_page && pages_[page - 1] != kNoPage) --page;
    if (page <= first_page) return place;
    place = (page - 1) * kWindowPage;
  }
  return 0;
}

uint32_t KvCache::first_position() const {
  if (window_ == 0) return 0;
  uint32_t page = pages_for(size_);
  while (page > 0 && pages_[page - 1] != kNoPage) --page;
  return page * kWindowPage;
}

uint32_t KvCache::n_spare() const {
  const uint32_t first = first_position();
  return first == 0 ? kWindowSpare : std::min(kWindowSpare, first_seen(window_, size_) - first);
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
