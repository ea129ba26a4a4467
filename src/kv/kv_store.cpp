#include "kv/kv_store.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/bit_cast.h"
#include "base/checked.h"
#include "base/format.h"

namespace kinglet {
namespace {

constexpr float kDefragmentAbove = 0.3f;  // fragmentation
constexpr uint64_t kWasteDivisor = 4;     // a quarter of the used positions
constexpr uint32_t kFreeDivisor = 10;     // a tenth of the pages

Error wrong_length(std::string_view what, size_t found, size_t expected) {
  return {ErrorCode::invalid_argument,
          cat("KV cache: ", what, " has ", found, " elements, expected ", expected)};
}

bool is_finite(std::span<const float> row) {
  constexpr uint32_t kExponent = 0x7f800000u;
  uint32_t n_bad = 0;
  for (const float x : row) n_bad += (bit_cast<uint32_t>(x) & kExponent) == kExponent;
  return n_bad == 0;
}

// NaN becomes 0, infinity the row's largest finite magnitude.
void make_finite(const float* row, std::span<float> out) {
  float largest = 0.0f;
  for (size_t i = 0; i < out.size(); ++i) {
    if (std::isfinite(row[i])) largest = std::max(largest, std::fabs(row[i]));
  }
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = std::isnan(row[i]) ? 0.0f : std::clamp(row[i], -largest, largest);
  }
}

}  // namespace

uint64_t KvStoreConfig::bytes_per_position() const {
  return uint64_t{n_layers} * n_kv_heads *
         (kv_kind_info(k_kind).row_bytes(head_dim) + kv_kind_info(v_kind).row_bytes(head_dim));
}

double KvStoreConfig::compression() const {
  const uint64_t bytes = bytes_per_position();
  const uint64_t f32_bytes = uint64_t{n_layers} * kv_dim() * 2 * sizeof(float);
  return bytes == 0 ? 1.0 : static_cast<double>(f32_bytes) / static_cast<double>(bytes);
}

bool KvStoreStats::should_defragment() const {
  const uint64_t n_room = n_positions + n_wasted;
  return fragmentation > kDefragmentAbove || (kWasteDivisor * n_wasted > n_room && n_holes > 2) ||
         (kFreeDivisor * uint64_t{n_free} < n_pages && n_holes > 0);
}

KvStore::KvStore(const KvStoreConfig& config)
    : config_(config), pool_(config.n_pages), finite_(config.head_dim) {}

Result<std::shared_ptr<KvStore>> KvStore::create(const KvStoreConfig& config) {
  const bool has_rows = config.n_kv_heads > 0 && config.head_dim > 0;
  if ((config.n_layers > 0 && !has_rows) || config.page_positions == 0 || config.n_pages == 0) {
    return Error{ErrorCode::invalid_argument,
                 cat("KV cache: heads, head size, positions and pages must be at least 1, found ",
                     config.n_kv_heads, ", ", config.head_dim, ", ", config.page_positions, ", ",
                     config.n_pages)};
  }
  // Every offset below fits where the whole does, which is checked first.
  std::optional<uint64_t> page_bytes = 0;
  const auto side_of = [&](KvKind kind) {
    const KvKindInfo& info = kv_kind_info(kind);
    const auto n_rows = checked_mul(config.page_positions, config.n_kv_heads);
    const auto codes = n_rows ? checked_mul(*n_rows, info.code_bytes(config.head_dim)) : n_rows;
    const auto n_scales = n_rows ? checked_mul(*n_rows, info.n_scales(config.head_dim)) : n_rows;
    const auto scales = n_scales ? checked_mul(*n_scales, sizeof(float)) : n_scales;
    const auto sum = codes && scales ? checked_add(*codes, *scales) : std::nullopt;
    const auto padded = sum ? checked_add(*sum, kAlignment + sizeof(float)) : sum;
    const auto layers = padded ? checked_mul(*padded, config.n_layers) : padded;
    page_bytes = layers && page_bytes ? checked_add(*page_bytes, *layers) : std::nullopt;
    if (!page_bytes || !checked_size(*page_bytes)) return Side{};
    Side side{.kind = &info,
              .code_bytes = static_cast<size_t>(info.code_bytes(config.head_dim)),
              .n_scales = static_cast<size_t>(info.n_scales(config.head_dim)),
              .scale_offset = static_cast<size_t>(round_up(*codes, sizeof(float)))};
    side.bytes = static_cast<size_t>(round_up(side.scale_offset + *scales, kAlignment));
    return side;
  };
  const Side keys = side_of(config.k_kind);
  const Side values = side_of(config.v_kind);
  const std::optional<uint64_t> all =
      page_bytes && checked_size(*page_bytes)
          ? checked_mul(uint64_t{config.n_layers} * (keys.bytes + values.bytes), config.n_pages)
          : std::nullopt;
  KINGLET_ASSIGN(
      AlignedBuffer memory,
      AlignedBuffer::allocate(all.value_or(UINT64_MAX), cat("a KV cache of ", config.n_pages, " × ",
                                                            config.page_positions, " positions")));
  // Constructed only now: its tables are as long as the pages that turned out to fit.
  std::shared_ptr<KvStore> store(new KvStore(config));
  store->keys_ = keys;
  store->values_ = values;
  store->page_bytes_ = config.n_layers * (keys.bytes + values.bytes);
  store->memory_ = std::move(memory);
  return store;
}

Result<std::shared_ptr<KvStore>> KvStore::clone() const {
  KINGLET_ASSIGN(std::shared_ptr<KvStore> copy, create(config_));
  std::copy_n(memory_.data(), memory_.size(), copy->memory_.data());
  copy->pool_ = pool_;
  copy->sequences_ = sequences_;
  for (Sequence& sequence : copy->sequences_) sequence.pages.reserve(config_.n_pages);
  copy->n_forks_ = n_forks_;
  copy->n_page_copies_ = n_page_copies_;
  copy->n_not_finite_ = n_not_finite_;
  return copy;
}

// --- Sequences ----------------------------------------------------------------------------------

Status KvStore::check(SequenceId id) const {
  if (id < sequences_.size() && sequences_[id].exists) return {};
  return Error{ErrorCode::invalid_argument, cat("KV cache: there is no sequence ", id)};
}

KvStore::Sequence& KvStore::add_sequence(SequenceId& id) {
  const auto unused = std::find_if(sequences_.begin(), sequences_.end(),
                                   [](const Sequence& sequence) { return !sequence.exists; });
  id = static_cast<SequenceId>(unused - sequences_.begin());
  if (unused == sequences_.end()) sequences_.emplace_back();
  Sequence& sequence = sequences_[id];
  sequence.exists = true;
  sequence.n_positions = 0;
  sequence.pages.reserve(config_.n_pages);  // so that no step allocates
  return sequence;
}

uint32_t KvStore::pages_for(uint32_t n_positions) const {
  return n_positions / config_.page_positions +
         static_cast<uint32_t>(n_positions % config_.page_positions != 0);
}

// Gives the sequence n_pages pages, of which those from first_writable on are its own. All or
// nothing.
Status KvStore::take_pages(Sequence& sequence, uint32_t first_writable, uint32_t n_pages) {
  const auto n_had = static_cast<uint32_t>(sequence.pages.size());
  uint32_t n_needed = n_pages > n_had ? n_pages - n_had : 0;
  for (uint32_t i = first_writable; i < n_had; ++i) {
    if (pool_.n_users(sequence.pages[i]) > 1) ++n_needed;
  }
  if (n_needed > pool_.n_free()) {
    return Error{ErrorCode::out_of_memory,
                 cat("KV cache: ", n_needed, " pages of ", config_.page_positions,
                     " positions are needed, ", pool_.n_free(), " are available")};
  }
  for (uint32_t i = first_writable; i < n_had; ++i) {
    const uint32_t page = sequence.pages[i];
    if (pool_.n_users(page) == 1) continue;
    sequence.pages[i] = pool_.take();
    copy_page(page, sequence.pages[i]);
    pool_.release(page);
    ++n_page_copies_;
  }
  while (sequence.pages.size() < n_pages) sequence.pages.push_back(pool_.take());
  return {};
}

Result<SequenceId> KvStore::allocate(uint32_t n_positions) {
  SequenceId id;
  Sequence& sequence = add_sequence(id);
  Status status = take_pages(sequence, 0, pages_for(n_positions));
  if (!status.ok()) {
    sequence.exists = false;
    return status.error();
  }
  return id;
}

Result<SequenceId> KvStore::fork(SequenceId id) {
  KINGLET_TRY(check(id));
  SequenceId forked;
  Sequence& sequence = add_sequence(forked);
  const Sequence& parent = sequences_[id];
  sequence.n_positions = parent.n_positions;
  const auto n_pages = static_cast<ptrdiff_t>(pages_for(parent.n_positions));
  sequence.pages.assign(parent.pages.begin(), parent.pages.begin() + n_pages);
  for (const uint32_t page : sequence.pages) pool_.share(page);
  ++n_forks_;
  return forked;
}

Status KvStore::free(SequenceId id) {
  KINGLET_TRY(truncate(id, 0));
  sequences_[id].exists = false;
  return {};
}

Status KvStore::reserve(SequenceId id, uint32_t n_positions) {
  KINGLET_TRY(check(id));
  Sequence& sequence = sequences_[id];
  return take_pages(sequence, sequence.n_positions / config_.page_positions,
                    pages_for(n_positions));
}

Status KvStore::unshare(SequenceId id, uint32_t first) {
  KINGLET_TRY(check(id));
  return take_pages(sequences_[id], first / config_.page_positions, 0);
}

Status KvStore::record(SequenceId id, uint32_t n_positions) {
  KINGLET_TRY(check(id));
  Sequence& sequence = sequences_[id];
  const uint64_t n_room = uint64_t{config_.page_positions} * sequence.pages.size();
  if (uint64_t{sequence.n_positions} + n_positions > n_room) {
    return Error{ErrorCode::invalid_argument,
                 cat("KV cache: ", n_positions, " positions more do not fit the ", n_room,
                     " that sequence ", id, " has reserved")};
  }
  sequence.n_positions += n_positions;
  return {};
}

Status KvStore::truncate(SequenceId id, uint32_t n_positions) {
  KINGLET_TRY(check(id));
  Sequence& sequence = sequences_[id];
  if (n_positions > sequence.n_positions) {
    return Error{ErrorCode::invalid_argument, cat("KV cache: cannot truncate to ", n_positions,
                                                  " positions, it holds ", sequence.n_positions)};
  }
  sequence.n_positions = n_positions;
  const uint32_t n_kept = pages_for(n_positions);
  for (size_t i = n_kept; i < sequence.pages.size(); ++i) pool_.release(sequence.pages[i]);
  sequence.pages.resize(std::min<size_t>(n_kept, sequence.pages.size()));
  return {};
}

// --- Rows ---------------------------------------------------------------------------------------

size_t KvStore::side_offset(const Side& side, uint32_t layer) const {
  return layer * (keys_.bytes + values_.bytes) + (&side == &keys_ ? 0 : keys_.bytes);
}

KvHead KvStore::head(const Side& side, uint32_t layer, uint32_t head) const {
  const std::byte* codes = memory_.data() + side_offset(side, layer);
  const auto* scales = reinterpret_cast<const float*>(codes + side.scale_offset);
  const size_t first_row = size_t{head} * config_.page_positions;
  return {side.kind->kind,
          {codes + first_row * side.code_bytes, side.code_bytes, scales + first_row * side.n_scales,
           side.n_scales}};
}

KvView KvStore::view(SequenceId id, uint32_t layer, uint32_t head_index) const {
  return {head(keys_, layer, head_index), head(values_, layer, head_index),
          sequences_[id].pages.data(), config_.page_positions, page_bytes_};
}

KvStore::Row KvStore::row(const Side& side, SequenceId id, uint32_t layer, uint32_t position,
                          uint32_t head_index) {
  const size_t page = sequences_[id].pages[position / config_.page_positions];
  const size_t index =
      size_t{head_index} * config_.page_positions + position % config_.page_positions;
  std::byte* codes = memory_.data() + page * page_bytes_ + side_offset(side, layer);
  auto* scales = reinterpret_cast<float*>(codes + side.scale_offset);
  return {codes + index * side.code_bytes, scales + index * side.n_scales};
}

void KvStore::write_row(const Side& side, SequenceId id, uint32_t layer, uint32_t position,
                        uint32_t head_index, const float* values) {
  const Row to = row(side, id, layer, position, head_index);
  side.kind->write_row(values, config_.head_dim, to.codes, to.scales);
}

Status KvStore::write_side(const Side& side, SequenceId id, uint32_t layer, uint32_t position,
                           std::span<const float> rows) {
  for (uint32_t head_index = 0; head_index < config_.n_kv_heads; ++head_index) {
    const auto row = rows.subspan(size_t{head_index} * config_.head_dim, config_.head_dim);
    if (is_finite(row)) {
      write_row(side, id, layer, position, head_index, row.data());
      continue;
    }
    if (config_.reject_not_finite) {
      return Error{ErrorCode::not_finite,
                   cat("KV cache: the ", &side == &keys_ ? "key" : "value", " of layer ", layer,
                       ", position ", position, ", head ", head_index, " holds NaN or infinity")};
    }
    ++n_not_finite_;
    make_finite(row.data(), finite_);
    write_row(side, id, layer, position, head_index, finite_.data());
  }
  return {};
}

Status KvStore::check_widths(std::span<const float> k, std::span<const float> v) const {
  if (k.size() != config_.kv_dim()) return wrong_length("a key", k.size(), config_.kv_dim());
  if (v.size() != config_.kv_dim()) return wrong_length("a value", v.size(), config_.kv_dim());
  return {};
}

Status KvStore::write(SequenceId id, uint32_t layer, uint32_t position, std::span<const float> k,
                      std::span<const float> v) {
  KINGLET_TRY(check_widths(k, v));
  KINGLET_TRY(check(id));
  const Sequence& sequence = sequences_[id];
  const uint32_t page = position / config_.page_positions;
  if (layer >= config_.n_layers || position < sequence.n_positions ||
      page >= sequence.pages.size() || pool_.n_users(sequence.pages[page]) > 1) {
    return Error{
        ErrorCode::invalid_argument,
        cat("KV cache: position ", position, " of layer ", layer, " is not writable: of ",
            config_.n_layers, " layers, ", sequence.n_positions,
            " positions are recorded "
            "and ",
            sequence.pages.size() * config_.page_positions, " reserved; pages must not be shared")};
  }
  KINGLET_TRY(write_side(keys_, id, layer, position, k));
  return write_side(values_, id, layer, position, v);
}

Status KvStore::check_row(SequenceId id, uint32_t layer, uint32_t position,
                          uint32_t head_index) const {
  KINGLET_TRY(check(id));
  const Sequence& sequence = sequences_[id];
  if (layer < config_.n_layers && position < sequence.n_positions &&
      head_index < config_.n_kv_heads) {
    return {};
  }
  return Error{ErrorCode::invalid_argument,
               cat("KV cache: no row at layer ", layer, ", position ", position, " (page ",
                   position / config_.page_positions, "), head ", head_index, ": it holds ",
                   config_.n_layers, " layers, ", sequence.n_positions, " positions (",
                   sequence.pages.size(), " pages), ", config_.n_kv_heads, " heads")};
}

Status KvStore::read(const Side& side, SequenceId id, uint32_t layer, uint32_t position,
                     uint32_t head_index, std::span<float> out) const {
  KINGLET_TRY(check_row(id, layer, position, head_index));
  if (out.size() != config_.head_dim) {
    return wrong_length("the room for a row", out.size(), config_.head_dim);
  }
  const KvView rows = view(id, layer, head_index);
  const KvRows row = rows.rows(&side == &keys_ ? rows.keys : rows.values, position);
  side.kind->read_row(row.codes, row.scales, 0, config_.head_dim, out.data());
  return {};
}

Status KvStore::read_key(SequenceId id, uint32_t layer, uint32_t position, uint32_t head_index,
                         std::span<float> out) const {
  return read(keys_, id, layer, position, head_index, out);
}

Status KvStore::read_value(SequenceId id, uint32_t layer, uint32_t position, uint32_t head_index,
                           std::span<float> out) const {
  return read(values_, id, layer, position, head_index, out);
}

void KvStore::rewrite_key(SequenceId id, uint32_t layer, uint32_t position, uint32_t head_index,
                          std::span<const float> row) {
  write_row(keys_, id, layer, position, head_index, row.data());
}

void KvStore::copy_position(SequenceId id, uint32_t from, uint32_t to) {
  const auto copy = [&](const Side& side, uint32_t layer, uint32_t head_index) {
    const Row source = row(side, id, layer, from, head_index);
    const Row target = row(side, id, layer, to, head_index);
    std::memcpy(target.codes, source.codes, side.code_bytes);
    std::copy_n(source.scales, side.n_scales, target.scales);
  };
  for (uint32_t layer = 0; layer < config_.n_layers; ++layer) {
    for (uint32_t head_index = 0; head_index < config_.n_kv_heads; ++head_index) {
      copy(keys_, layer, head_index);
      copy(values_, layer, head_index);
    }
  }
}

// --- Pages --------------------------------------------------------------------------------------

void KvStore::copy_page(uint32_t from, uint32_t to) {
  std::copy_n(memory_.data() + from * page_bytes_, page_bytes_, memory_.data() + to * page_bytes_);
}

void KvStore::move_page(uint32_t from, uint32_t to) {
  copy_page(from, to);
  pool_.move(from, to);
  for (Sequence& sequence : sequences_) {
    if (sequence.exists) std::replace(sequence.pages.begin(), sequence.pages.end(), from, to);
  }
}

KvStoreStats KvStore::stats() const {
  std::vector<uint32_t> filled(config_.n_pages);
  for (const Sequence& sequence : sequences_) {
    if (!sequence.exists) continue;
    for (uint32_t i = 0; i < pages_for(sequence.n_positions); ++i) {
      const uint32_t n = sequence.n_positions - i * config_.page_positions;
      uint32_t& most = filled[sequence.pages[i]];
      most = std::max(most, std::min(n, config_.page_positions));
    }
  }
  KvStoreStats stats{.n_pages = pool_.n_pages(),
                     .n_used = pool_.n_used(),
                     .n_free = pool_.n_free(),
                     .n_holes = pool_.n_holes(),
                     .largest_free_run = pool_.largest_free_run(),
                     .n_forks = n_forks_,
                     .n_page_copies = n_page_copies_};
  for (const uint32_t n : filled) stats.n_positions += n;
  stats.n_wasted = uint64_t{stats.n_used} * config_.page_positions - stats.n_positions;
  stats.utilization = static_cast<float>(stats.n_used) / static_cast<float>(stats.n_pages);
  if (stats.n_used > 0) {
    stats.fragmentation =
        std::min(1.0f, static_cast<float>(stats.n_holes) / static_cast<float>(stats.n_used));
  }
  return stats;
}

Result<uint32_t> KvStore::compact_sequence(SequenceId id) {
  KINGLET_TRY(check(id));
  uint32_t n_moved = 0;
  for (const uint32_t page : std::vector<uint32_t>(sequences_[id].pages)) {
    const uint32_t free_page = pool_.lowest_free();
    if (free_page >= page) continue;
    move_page(page, free_page);
    ++n_moved;
  }
  return n_moved;
}

uint32_t KvStore::defragment() {
  uint32_t n_moved = 0;
  for (;;) {
    const uint32_t to = pool_.lowest_free();
    const uint32_t from = pool_.highest_used();
    if (from == pool_.n_pages() || to > from) break;
    move_page(from, to);
    ++n_moved;
  }
  pool_.sort_free();
  return n_moved;
}

}  // namespace kinglet
