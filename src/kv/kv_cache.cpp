#include "kv/kv_cache.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/bit_cast.h"
#include "base/checked.h"
#include "base/format.h"

namespace kinglet {
namespace {

Status check_length(std::string_view what, size_t found, size_t expected) {
  if (found == expected) return {};
  return Error{ErrorCode::invalid_argument,
               cat("KV cache: ", what, " has ", found, " elements, expected ", expected)};
}

// Checks that a step of n_reserved positions has position i.
Status check_step(uint32_t i, uint32_t n_reserved) {
  if (i < n_reserved) return {};
  return Error{ErrorCode::invalid_argument,
               cat("KV cache: position ", i, " of a step of ", n_reserved, " is not reserved")};
}

bool is_finite(std::span<const float> row) {
  constexpr uint32_t kExponent = 0x7f800000u;
  uint32_t n_bad = 0;
  for (const float x : row) n_bad += (bit_cast<uint32_t>(x) & kExponent) == kExponent;
  return n_bad == 0;
}

}  // namespace

KvCache::KvCache(std::shared_ptr<KvStore> store, uint32_t capacity, uint32_t window)
    : table_(std::move(store), capacity, window > 0), places_(window), capacity_(capacity) {}

Result<KvCache> KvCache::fork() const {
  const uint32_t n_pages = table_.pages_for(size_);
  // A window gives pages back as it moves, which sharing would forbid.
  const bool shares = store().config().n_pages > 1 && !places_.is_window();
  std::shared_ptr<KvStore> memory = table_.shared_store();
  if (!shares) {
    KINGLET_ASSIGN(memory, KvStore::create(store().config()));
  }
  KvCache forked(std::move(memory), capacity_, window());
  if (shares) {
    forked.table_.share_from(table_, n_pages);
  } else {
    forked.table_.copy_from(table_, n_pages);
  }
  forked.places_.copy_checkpoints(places_);
  forked.set_size(size_);
  return forked;
}

Status KvCache::check_room(uint64_t n_positions) const {
  if (n_positions <= capacity_) return {};
  return Error{ErrorCode::context_full,
               cat("the context is full: it holds ", size_, " of ", capacity_, " positions, and ",
                   n_positions - size_, " more do not fit")};
}

// Makes the pages [first, end) writable, see PageTable::own(); gives up checkpoints if their pages
// are needed.
Status KvCache::own_pages(uint32_t first, uint32_t end) {
  const uint32_t n_needed = table_.n_needed(first, end);
  while (store().n_free() < n_needed && places_.drop_checkpoint(size_)) give_back();
  return table_.own(first, end);
}

// Forgets what was reserved, and gives back the pages that n_positions do not need.
void KvCache::set_size(uint32_t n_positions) {
  table_.cut(table_.pages_for(n_positions));
  size_ = n_positions;
  n_reserved_ = n_positions;  // a fork may share the last page from now on
}

// --- Steps --------------------------------------------------------------------------------------

Status KvCache::reserve(uint32_t n_positions) {
  const uint64_t n = uint64_t{size_} + n_positions;
  KINGLET_TRY(check_room(n));
  // From here on nothing else may write to these pages: a fork that shares the last page keeps it,
  // and this cache gets a copy.
  KINGLET_TRY(own_beginning(size_));
  KINGLET_TRY(own_pages(size_ / table_.page_positions(), table_.pages_for(n)));
  n_reserved_ = std::max(n_reserved_, static_cast<uint32_t>(n));
  return {};
}

Status KvCache::write(uint32_t layer, uint32_t i, std::span<const float> k,
                      std::span<const float> v) {
  const std::vector<KvLayer>& layers = store().layers();
  if (layer >= layers.size()) {
    return Error{ErrorCode::invalid_argument,
                 cat("KV cache: layer ", layer, " of ", layers.size(), " does not exist")};
  }
  const KvLayer& to = layers[layer];
  const size_t width = size_t{to.n_kv_heads} * to.head_dim;
  KINGLET_TRY(check_length("a key", k.size(), width));
  KINGLET_TRY(check_length("a value", v.size(), width));
  KINGLET_TRY(check_step(i, n_reserved_ - size_));
  const uint32_t position = size_ + i;
  KINGLET_TRY(write_side(to.keys, layer, position, k));
  KINGLET_TRY(write_side(to.values, layer, position, v));
  // The keys at the beginning are exact; their mean is what later keys are stored relative to.
  if (position == kExactPositions - 1 && to.keys.kind->has_integer_codes) table_.find_centres(to);
  return {};
}

Status KvCache::write_side(const KvSide& side, uint32_t layer, uint32_t position,
                           std::span<const float> rows) {
  const KvLayer& of = store().layers()[layer];
  for (uint32_t head = 0; head < of.n_kv_heads; ++head) {
    const auto values = rows.subspan(size_t{head} * of.head_dim, of.head_dim);
    if (!is_finite(values)) {
      return Error{ErrorCode::not_finite,
                   cat("KV cache: the ", &side == &of.keys ? "key" : "value", " of layer ", layer,
                       ", position ", position, ", head ", head, " contains NaN or infinity")};
    }
    table_.write(of, side, position, head, values);
  }
  return {};
}

Status KvCache::commit(uint32_t n) {
  if (n > n_reserved_ - size_) {
    return Error{
        ErrorCode::invalid_argument,
        cat("KV cache: cannot commit ", n, " positions: ", n_reserved_ - size_, " are reserved")};
  }
  size_ += n;
  give_back();
  return {};
}

// --- Committed positions ------------------------------------------------------------------------

Status KvCache::truncate(uint32_t n_positions) {
  if (n_positions > size_) {
    return Error{ErrorCode::invalid_argument,
                 cat("KV cache: cannot truncate to ", n_positions, " positions: it holds ", size_)};
  }
  places_.truncate(n_positions);
  set_size(n_positions);
  return {};
}

Status KvCache::own_beginning(uint32_t first) {
  return first < kExactPositions ? table_.own_beginning() : Status();
}

Status KvCache::unshare(uint32_t first) {
  KINGLET_TRY(own_beginning(first));
  return own_pages(first / table_.page_positions(), table_.size());
}

// The first position that is stored after drop(first, n), of the positions that are left after
// places_.clear().
uint32_t KvCache::first_position_after_drop(uint32_t first, uint32_t n) const {
  const uint32_t source = std::max(first_position(), first_kept(window(), size_, kWindowSpare));
  if (source <= first) return source;
  const uint32_t begin = std::max(first, source - std::min(n, source));
  return static_cast<uint32_t>(round_up(begin, kWindowPage));
}

bool KvCache::can_drop(uint32_t first, uint32_t n) const {
  if (!places_.is_window()) return true;
  const uint32_t begin = first_position_after_drop(first, n);
  return begin == 0 || begin <= first_seen(window(), size_ - n);
}

// Takes the pages that drop() moves the rows to, n positions down: those from `begin` on. The store
// has room for them, although it then holds the next token's window twice.
Status KvCache::take_pages_for_drop(uint32_t begin, uint32_t n) {
  places_.clear();
  give_back();
  give_back_before(std::min(begin, first_position()) / kWindowPage);
  return table_.fill(begin / kWindowPage, table_.pages_for(size_ - n));
}

Status KvCache::drop(uint32_t first, uint32_t n) {
  if (first > size_ || n > size_ - first) {
    return Error{ErrorCode::invalid_argument,
                 cat("KV cache: cannot drop ", n, " positions from ", first, ": it holds ", size_)};
  }
  if (!can_drop(first, n)) {
    return Error{ErrorCode::invalid_argument,
                 cat("KV cache: positions before ", first, " are no longer stored")};
  }
  rollback();
  // Take all memory first, so that an error changes nothing. Then move the rows in ascending order:
  // a row's new place is never one that is still to be read. Then give back what is not needed.
  const uint32_t begin = !places_.is_window() ? 0 : first_position_after_drop(first, n);
  KINGLET_TRY(own_beginning(first));
  KINGLET_TRY(!places_.is_window() ? unshare(first) : take_pages_for_drop(begin, n));
  for (uint32_t to = std::max(first, begin); to + n < size_; ++to) table_.copy_position(to + n, to);
  if (places_.is_window()) give_back_before(begin / kWindowPage);
  set_size(size_ - n);
  give_back();
  return {};
}

Status KvCache::overwrite(uint32_t n_positions, uint32_t n_spare) {
  rollback();
  KINGLET_TRY(check_room(n_positions));
  KINGLET_TRY(own_beginning(0));
  if (places_.is_window()) {
    set_size(0);
    places_.clear();
    table_.skip(first_kept(window(), n_positions, n_spare) / kWindowPage);
  }
  KINGLET_TRY(own_pages(0, table_.pages_for(n_positions)));
  set_size(n_positions);
  return {};
}

// --- Windows ------------------------------------------------------------------------------------

void KvCache::give_back() {
  if (!places_.is_window()) return;
  for (uint32_t i = 0; i < table_.pages_for(size_); ++i) {  // the pages after them belong to a step
    if (!places_.needs(i, size_)) table_.release(i);
  }
}

void KvCache::give_back_before(uint32_t page) {
  for (uint32_t i = 0; i < page; ++i) table_.release(i);
}

void KvCache::add_checkpoint() {
  places_.add_checkpoint(size_);
  give_back();
}

void KvCache::pin() {
  places_.pin(size_);
  give_back();
}

void KvCache::unpin() {
  places_.unpin();
  give_back();
}

uint32_t KvCache::reachable(uint32_t n_positions) const {
  uint32_t place = std::min(n_positions, size_);
  if (!places_.is_window() || place == size_) return place;
  // A place is reachable if all pages from the first that its token sees up to it are stored. If a
  // page is missing, every place whose window has it is out, too: go on in front of that page.
  while (place > 0) {
    const uint32_t first_page = first_seen(window(), place) / kWindowPage;
    uint32_t page = table_.pages_for(place);
    while (page > first_page && table_.has(page - 1)) --page;
    if (page <= first_page) return place;
    place = (page - 1) * kWindowPage;
  }
  return 0;
}

uint32_t KvCache::first_position() const {
  if (!places_.is_window()) return 0;
  uint32_t page = table_.pages_for(size_);
  while (page > 0 && table_.has(page - 1)) --page;
  return page * kWindowPage;
}

uint32_t KvCache::n_spare() const {
  const uint32_t first = first_position();
  return first == 0 ? kWindowSpare : std::min(kWindowSpare, first_seen(window(), size_) - first);
}

}  // namespace kinglet
