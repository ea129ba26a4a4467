#include "kv/page_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/format.h"

namespace kinglet {

PageTable::PageTable(std::shared_ptr<KvStore> store, uint32_t capacity, bool has_gaps)
    : store_(std::move(store)) {
  const uint32_t n_most = pages_for(capacity);
  pages_.reserve(has_gaps ? n_most : std::min(store_->config().n_pages, n_most));
  for (const KvLayer& layer : store_->layers()) {
    if (layer.head_dim > row_.size()) row_.resize(layer.head_dim);
  }
}

// A table that was moved from has no pages.
PageTable::~PageTable() { cut(0); }

void PageTable::share_from(const PageTable& other, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) {
    store_->share_page(other.pages_[i]);
    pages_.push_back(other.pages_[i]);
  }
  beginning_ = other.beginning_;
}

void PageTable::copy_from(const PageTable& other, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) {
    pages_.push_back(other.has(i) ? store_->take_copy(other.store(), other.pages_[i]) : kNoPage);
  }
  beginning_ = other.beginning_;
}

Status PageTable::own_beginning() {
  const size_t n = store_->beginning_bytes();
  if (n == 0 || (beginning_ != nullptr && beginning_.use_count() == 1)) return {};
  KINGLET_ASSIGN(AlignedBuffer own, AlignedBuffer::allocate(n, "the beginning of a KV cache"));
  if (beginning_ != nullptr) std::copy_n(beginning_->data(), n, own.data());
  beginning_ = std::make_shared<AlignedBuffer>(std::move(own));
  return {};
}

uint32_t PageTable::pages_for(uint64_t n_positions) const {
  return static_cast<uint32_t>((n_positions + page_positions() - 1) / page_positions());
}

uint32_t PageTable::n_needed(uint32_t first, uint32_t end) const {
  uint32_t n = end > size() ? end - size() : 0;
  for (uint32_t i = first; i < std::min(end, size()); ++i) n += is_shared(i) ? 1 : 0;
  return n;
}

Status PageTable::check_free(uint32_t n_needed) const {
  if (n_needed <= store_->n_free()) return {};
  return Error{ErrorCode::out_of_memory,
               cat("KV cache: ", n_needed, " pages of ", page_positions(),
                   " positions are needed, but ", store_->n_free(), " are free")};
}

Status PageTable::own(uint32_t first, uint32_t end) {
  KINGLET_TRY(check_free(n_needed(first, end)));
  for (uint32_t i = first; i < std::min(end, size()); ++i) {
    if (is_shared(i)) pages_[i] = store_->own_page(pages_[i]);
  }
  while (size() < end) pages_.push_back(store_->take_page());
  return {};
}

Status PageTable::fill(uint32_t first, uint32_t end) {
  uint32_t n_gaps = 0;
  for (uint32_t i = first; i < end; ++i) n_gaps += has(i) ? 0 : 1;
  KINGLET_TRY(check_free(n_gaps));
  for (uint32_t i = first; i < end; ++i) {
    if (!has(i)) pages_[i] = store_->take_page();
  }
  return {};
}

void PageTable::release(uint32_t page) {
  if (has(page)) store_->release_page(pages_[page]);
  pages_[page] = kNoPage;
}

void PageTable::cut(uint32_t n) {
  for (uint32_t i = n; i < size(); ++i) release(i);
  if (n < size()) pages_.resize(n);
}

PageTable::Row PageTable::row(const KvSide& side, uint32_t position, uint32_t head) const {
  if (side.is_exact_at(position)) {
    const size_t index = size_t{head} * kExactPositions + position;
    return {beginning_->data() + side.exact_begin + index * side.exact_bytes, nullptr};
  }
  std::byte* page = store_->page(pages_[position / page_positions()]);
  const size_t index = size_t{head} * page_positions() + position % page_positions();
  auto* scales = reinterpret_cast<float*>(page + side.scales_begin);
  return {page + side.codes_begin + index * side.code_bytes, scales + index * side.n_scales};
}

std::span<float> PageTable::centre(const KvLayer& layer, uint32_t head) const {
  auto* first = reinterpret_cast<float*>(beginning_->data() + layer.centre_begin);
  return {first + size_t{head} * layer.head_dim, layer.head_dim};
}

void PageTable::write(const KvLayer& layer, const KvSide& side, uint32_t position, uint32_t head,
                      std::span<const float> row) {
  const Row to = this->row(side, position, head);
  const bool is_rotated = side.is_exact_at(position) && side.kind->rotates;
  const bool is_centred = layer.is_centred_at(side, position);
  if (is_rotated || is_centred) {
    const std::span<float> changed = std::span(row_).first(row.size());
    std::copy(row.begin(), row.end(), changed.begin());
    if (is_rotated) rotate_blocks(changed.data(), changed.size());
    if (is_centred) {
      const std::span<const float> c = centre(layer, head);
      for (size_t i = 0; i < c.size(); ++i) changed[i] -= c[i];
    }
    row = changed;
  }
  side.kind_at(position).write_row(row.data(), row.size(), to.codes, to.scales);
}

void PageTable::read(const KvLayer& layer, const KvSide& side, uint32_t position, uint32_t head,
                     std::span<float> row) const {
  const Row from = this->row(side, position, head);
  side.kind_at(position).read_row(from.codes, from.scales, 0, row.size(), row.data());
  if (side.is_exact_at(position) && side.kind->rotates) rotate_blocks(row.data(), row.size());
  if (layer.is_centred_at(side, position)) {
    const std::span<const float> c = centre(layer, head);
    for (size_t i = 0; i < c.size(); ++i) row[i] += c[i];
  }
}

void PageTable::find_centres(const KvLayer& layer) {
  const std::span<float> key = std::span(row_).first(layer.head_dim);
  for (uint32_t head = 0; head < layer.n_kv_heads; ++head) {
    const std::span<float> c = centre(layer, head);
    std::fill(c.begin(), c.end(), 0.0f);
    for (uint32_t position = kCentreBegin; position < kExactPositions; ++position) {
      read(layer, layer.keys, position, head, key);
      for (size_t i = 0; i < c.size(); ++i) c[i] += key[i];
    }
    for (float& x : c) x /= static_cast<float>(kExactPositions - kCentreBegin);
  }
}

void PageTable::copy_position(uint32_t from, uint32_t to) {
  std::vector<float> copied(row_.size());
  for (const KvLayer& layer : store_->layers()) {
    for (uint32_t head = 0; head < layer.n_kv_heads; ++head) {
      for (const KvSide* side : {&layer.keys, &layer.values}) {
        if (side->is_exact_at(from) != side->is_exact_at(to)) {
          const std::span<float> values = std::span(copied).first(layer.head_dim);
          read(layer, *side, from, head, values);
          write(layer, *side, to, head, values);
          continue;
        }
        const Row source = row(*side, from, head);
        const Row target = row(*side, to, head);
        std::memcpy(target.codes, source.codes, side->code_bytes_at(from));
        std::copy_n(source.scales, side->n_scales_at(from), target.scales);
      }
    }
  }
}

KvView PageTable::view(const KvLayer& layer, uint32_t head) const {
  const std::byte* first_page = store_->page(0);
  const size_t first_row = size_t{head} * page_positions();
  const auto in = [&](const KvSide& side) -> KvHead {
    const auto* scales = reinterpret_cast<const float*>(first_page + side.scales_begin);
    const KvRows exact = side.kind->has_integer_codes && beginning_ != nullptr
                             ? KvRows{row(side, 0, head).codes, side.exact_bytes, nullptr, 0}
                             : KvRows();
    return {side.kind->kind,
            {first_page + side.codes_begin + first_row * side.code_bytes, side.code_bytes,
             scales + first_row * side.n_scales, side.n_scales},
            exact};
  };
  const bool is_centred = layer.keys.kind->has_integer_codes && beginning_ != nullptr;
  return {in(layer.keys),       in(layer.values),
          pages_.data(),        page_positions(),
          store_->page_bytes(), is_centred ? centre(layer, head).data() : nullptr};
}

}  // namespace kinglet
