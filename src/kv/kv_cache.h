// The keys and values of every position seen so far: what lets a step compute only its own tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "kernels/kernels.h"

namespace kinglet {

// How an element is stored.
enum class KvKind : uint8_t { f32 };

// One row of the table of kinds.
struct KvKindInfo {
  KvKind kind;
  std::string_view name;
  // Bytes of one row: head_dim elements of one head at one position.
  uint64_t (*row_bytes)(uint64_t head_dim);
  // Stores head_dim elements.
  void (*write_row)(const float* row, size_t head_dim, std::byte* out);
  // Restores them.
  void (*read_row)(const std::byte* row, size_t head_dim, float* out);
};

const KvKindInfo& kv_kind_info(KvKind kind);

// The row of that name, or null.
const KvKindInfo* find_kv_kind(std::string_view name);

// "f32, …": for messages.
std::string kv_kind_names();

struct KvCacheConfig {
  uint32_t n_layers = 0;
  uint32_t n_kv_heads = 0;
  uint32_t head_dim = 0;
  uint32_t capacity = 0;  // positions
  KvKind k_kind = KvKind::f32;
  KvKind v_kind = KvKind::f32;
};

// Contiguous storage: for each layer the keys [capacity][n_kv_heads][head_dim], then the values,
// each slab beginning on a cache line. Everything is allocated at once, and nothing later.
//
// A step pushes the keys and values of its positions onto every layer and then commits them all; a
// step that fails calls rollback(), and the cache is as it was.
class KvCache {
 public:
  // ErrorCode::invalid_argument (a size of 0), out_of_memory.
  static Result<KvCache> create(const KvCacheConfig& config);

  const KvCacheConfig& config() const { return config_; }

  uint32_t size() const { return size_; }  // committed positions
  uint64_t bytes() const { return memory_.size(); }

  // Appends one position to a layer: k and v are [n_kv_heads * head_dim]. Checks k's length, v's
  // length, then room, and says which one failed.
  Status push(uint32_t layer, std::span<const float> k, std::span<const float> v);

  // Makes what every layer has been given part of the cache. ErrorCode::invalid_argument where the
  // layers were given different numbers of positions; nothing is committed then.
  Status commit();

  // Forgets what was pushed since the last commit.
  void rollback();

  // Forgets positions from n_positions on. ErrorCode::invalid_argument past the end.
  Status truncate(uint32_t n_positions);
  void clear();

  // One committed row, as floats [head_dim]. ErrorCode::invalid_argument for a layer, a position or
  // a head that does not exist.
  Status read_key(uint32_t layer, uint32_t position, uint32_t head, std::span<float> out) const;
  Status read_value(uint32_t layer, uint32_t position, uint32_t head, std::span<float> out) const;

  // The rows of one head, pushed ones included, for attention kernels.
  HeadRows keys(uint32_t layer, uint32_t head) const;
  HeadRows values(uint32_t layer, uint32_t head) const;

 private:
  // The keys or the values of all layers.
  struct Side {
    const KvKindInfo* kind = nullptr;
    size_t row_bytes = 0;       // of one head at one position
    size_t position_bytes = 0;  // of all heads at one position
    size_t layer_bytes = 0;     // of one layer's slab
    size_t offset = 0;          // of the first layer's slab
  };

  Status read(const Side& side, uint32_t layer, uint32_t position, uint32_t head,
              std::span<float> out) const;
  std::byte* slab(const Side& side, uint32_t layer) {
    return memory_.data() + side.offset + layer * side.layer_bytes;
  }
  HeadRows rows(const Side& side, uint32_t layer, uint32_t head) const;

  KvCacheConfig config_;
  Side keys_;
  Side values_;
  AlignedBuffer memory_;
  uint32_t size_ = 0;
  std::vector<uint32_t> pushed_;  // [n_layers]: positions pushed since the last commit
};

}  // namespace kinglet
