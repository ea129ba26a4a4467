#include "kv/kv_cache.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/checked.h"
#include "base/format.h"

namespace kinglet {
namespace {

uint64_t f32_row_bytes(uint64_t head_dim) { return head_dim * sizeof(float); }

void write_f32(const float* row, size_t head_dim, std::byte* out) {
  std::memcpy(out, row, head_dim * sizeof(float));
}

void read_f32(const std::byte* row, size_t head_dim, float* out) {
  std::memcpy(out, row, head_dim * sizeof(float));
}

constexpr std::array kKinds = {
    KvKindInfo{KvKind::f32, "f32", f32_row_bytes, write_f32, read_f32},
};

Error wrong_length(std::string_view what, size_t found, size_t expected) {
  return {ErrorCode::invalid_argument,
          cat("KV cache: ", what, " has ", found, " elements, expected ", expected)};
}

}  // namespace

const KvKindInfo& kv_kind_info(KvKind kind) { return kKinds[static_cast<size_t>(kind)]; }

const KvKindInfo* find_kv_kind(std::string_view name) {
  const auto row = std::find_if(kKinds.begin(), kKinds.end(),
                                [name](const KvKindInfo& info) { return info.name == name; });
  return row == kKinds.end() ? nullptr : row;
}

std::string kv_kind_names() {
  std::string names;
  for (const KvKindInfo& info : kKinds) {
    if (!names.empty()) names += ", ";
    names += info.name;
  }
  return names;
}

Result<KvCache> KvCache::create(const KvCacheConfig& config) {
  if (config.n_layers == 0 || config.n_kv_heads == 0 || config.head_dim == 0 ||
      config.capacity == 0) {
    return Error{ErrorCode::invalid_argument,
                 cat("KV cache: layers, heads, head size and capacity must be at least 1, found ",
                     config.n_layers, ", ", config.n_kv_heads, ", ", config.head_dim, ", ",
                     config.capacity)};
  }
  KvCache cache;
  cache.config_ = config;
  std::optional<uint64_t> total = 0;
  const auto lay_out = [&](Side& side, KvKind kind) {
    side.kind = &kv_kind_info(kind);
    side.row_bytes = static_cast<size_t>(side.kind->row_bytes(config.head_dim));
    const auto position_bytes = checked_mul(side.row_bytes, config.n_kv_heads);
    const auto slab = position_bytes ? checked_mul(*position_bytes, config.capacity) : std::nullopt;
    const auto padded = slab ? checked_add(*slab, kAlignment - 1) : std::nullopt;
    const auto all =
        padded ? checked_mul(*padded / kAlignment * kAlignment, config.n_layers) : std::nullopt;
    const auto sum = all && total ? checked_add(*total, *all) : std::nullopt;
    if (sum && checked_size(*sum)) {
      side.position_bytes = static_cast<size_t>(*position_bytes);
      side.layer_bytes = static_cast<size_t>(*all / config.n_layers);
      side.offset = static_cast<size_t>(*total);
    }
    total = sum;
  };
  lay_out(cache.keys_, config.k_kind);
  lay_out(cache.values_, config.v_kind);
  KINGLET_ASSIGN(cache.memory_,
                 AlignedBuffer::allocate(total.value_or(UINT64_MAX),
                                         cat("a KV cache of ", config.capacity, " positions")));
  cache.pushed_.assign(config.n_layers, 0);
  return cache;
}

Status KvCache::push(uint32_t layer, std::span<const float> k, std::span<const float> v) {
  const size_t width = size_t{config_.n_kv_heads} * config_.head_dim;
  if (layer >= config_.n_layers) {
    return Error{ErrorCode::invalid_argument,
                 cat("KV cache: layer ", layer, " of ", config_.n_layers, " does not exist")};
  }
  if (k.size() != width) return wrong_length("a key", k.size(), width);
  if (v.size() != width) return wrong_length("a value", v.size(), width);
  const uint32_t position = size_ + pushed_[layer];
  if (position >= config_.capacity) {
    return Error{ErrorCode::context_full, cat("the context is full: it holds ", config_.capacity,
                                              " positions, layer ", layer, " asks for one more")};
  }
  const auto write = [&](const Side& side, std::span<const float> row) {
    std::byte* out = slab(side, layer) + position * side.position_bytes;
    for (uint32_t head = 0; head < config_.n_kv_heads; ++head) {
      side.kind->write_row(row.data() + head * config_.head_dim, config_.head_dim,
                           out + head * side.row_bytes);
    }
  };
  write(keys_, k);
  write(values_, v);
  ++pushed_[layer];
  return {};
}

Status KvCache::commit() {
  const auto [fewest, most] = std::minmax_element(pushed_.begin(), pushed_.end());
  if (*fewest != *most) {
    return Error{
        ErrorCode::invalid_argument,
        cat("KV cache: a step pushed ", *fewest, " positions onto layer ", fewest - pushed_.begin(),
            " but ", *most, " onto layer ", most - pushed_.begin())};
  }
  size_ += *fewest;
  rollback();
  return {};
}

void KvCache::rollback() { std::fill(pushed_.begin(), pushed_.end(), 0); }

Status KvCache::truncate(uint32_t n_positions) {
  if (n_positions > size_) {
    return Error{ErrorCode::invalid_argument,
                 cat("KV cache: cannot truncate to ", n_positions, " positions, it holds ", size_)};
  }
  rollback();
  size_ = n_positions;
  return {};
}

void KvCache::clear() {
  rollback();
  size_ = 0;
}

Status KvCache::read(const Side& side, uint32_t layer, uint32_t position, uint32_t head,
                     std::span<float> out) const {
  if (layer >= config_.n_layers || position >= size_ || head >= config_.n_kv_heads) {
    return Error{ErrorCode::invalid_argument,
                 cat("KV cache: no row at layer ", layer, ", position ", position, ", head ", head,
                     ": it holds ", config_.n_layers, " layers, ", size_, " positions, ",
                     config_.n_kv_heads, " heads")};
  }
  if (out.size() != config_.head_dim) {
    return wrong_length("the room for a row", out.size(), config_.head_dim);
  }
  const HeadRows head_rows = rows(side, layer, head);
  side.kind->read_row(head_rows.data + position * head_rows.row_stride, config_.head_dim,
                      out.data());
  return {};
}

Status KvCache::read_key(uint32_t layer, uint32_t position, uint32_t head,
                         std::span<float> out) const {
  return read(keys_, layer, position, head, out);
}

Status KvCache::read_value(uint32_t layer, uint32_t position, uint32_t head,
                           std::span<float> out) const {
  return read(values_, layer, position, head, out);
}

HeadRows KvCache::rows(const Side& side, uint32_t layer, uint32_t head) const {
  return {memory_.data() + side.offset + layer * side.layer_bytes + head * side.row_bytes,
          side.position_bytes};
}

HeadRows KvCache::keys(uint32_t layer, uint32_t head) const { return rows(keys_, layer, head); }
HeadRows KvCache::values(uint32_t layer, uint32_t head) const { return rows(values_, layer, head); }

}  // namespace kinglet
