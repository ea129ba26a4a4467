#include "kv/kv_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "base/format.h"

namespace kinglet {
namespace {

Status check_sizes(const KvStoreConfig& config) {
  for (const RowShape& shape : config.rows) {
    if (shape.n_kv_heads > 0 && shape.head_dim > 0) continue;
    return Error{ErrorCode::invalid_argument,
                 cat("KV cache: layer ", shape.layer, " has ", shape.n_kv_heads, " heads of ",
                     shape.head_dim, " elements, expected at least 1 of each")};
  }
  if (config.page_positions > 0 && config.n_pages > 0) return {};
  return Error{ErrorCode::invalid_argument,
               cat("KV cache: positions and pages must be at least 1, found ",
                   config.page_positions, " and ", config.n_pages)};
}

// An upper bound of the bytes of all pages, alignment included; nothing if it overflows.
std::optional<uint64_t> most_bytes(const KvStoreConfig& config) {
  std::optional<uint64_t> sum = 0;
  for (const RowShape& shape : config.rows) {
    for (const KvKind kind : {config.k_kind, config.v_kind}) {
      const uint64_t n_rows = uint64_t{config.page_positions} * shape.n_kv_heads;
      const auto rows = checked_mul(n_rows, kv_kind_info(kind).row_bytes(shape.head_dim));
      const auto padded = rows ? checked_add(*rows, kAlignment + sizeof(float)) : rows;
      sum = sum && padded ? checked_add(*sum, *padded) : std::nullopt;
    }
  }
  return sum ? checked_mul(*sum, config.n_pages) : sum;
}

// Lays out a side that begins at `end`, and moves `end` to the side's end. Nothing overflows, as
// most_bytes() fits a size_t.
KvSide lay_out(KvKind kind, const RowShape& shape, uint32_t page_positions, size_t& end,
               size_t& exact_end) {
  const KvKindInfo& info = kv_kind_info(kind);
  KvSide side{.kind = &info,
              .code_bytes = static_cast<size_t>(info.code_bytes(shape.head_dim)),
              .n_scales = static_cast<size_t>(info.n_scales(shape.head_dim)),
              .codes_begin = end,
              .scales_begin = 0,
              .exact_begin = exact_end,
              .exact_bytes = shape.head_dim * sizeof(Half)};
  const size_t n_rows = size_t{page_positions} * shape.n_kv_heads;
  const size_t codes_end = end + n_rows * side.code_bytes;
  side.scales_begin = static_cast<size_t>(round_up(codes_end, sizeof(float)));
  const size_t scales_end = side.scales_begin + n_rows * side.n_scales * sizeof(float);
  end = static_cast<size_t>(round_up(scales_end, kAlignment));
  if (info.has_integer_codes) {
    const size_t n_exact = size_t{kExactPositions} * shape.n_kv_heads * shape.head_dim;
    exact_end += static_cast<size_t>(round_up(n_exact * sizeof(Half), kAlignment));
  }
  return side;
}

// The layers in each page.
struct Layout {
  std::vector<KvLayer> layers;
  size_t page_bytes = 0;
  size_t beginning_bytes = 0;
  uint64_t all_bytes = UINT64_MAX;  // of all pages; UINT64_MAX if they cannot be addressed
};

Layout lay_out(const KvStoreConfig& config) {
  Layout layout;
  const std::optional<uint64_t> most = most_bytes(config);
  if (!most || !checked_size(*most)) return layout;
  for (const RowShape& shape : config.rows) {
    const auto lay_out_side = [&](KvKind kind) {
      return lay_out(kind, shape, config.page_positions, layout.page_bytes, layout.beginning_bytes);
    };
    const KvSide keys = lay_out_side(config.k_kind);
    const KvSide values = lay_out_side(config.v_kind);
    layout.layers.push_back(
        {shape.n_kv_heads, shape.head_dim, keys, values, layout.beginning_bytes});
    if (keys.kind->has_integer_codes) {
      const size_t n = size_t{shape.n_kv_heads} * shape.head_dim;
      layout.beginning_bytes += static_cast<size_t>(round_up(n * sizeof(float), kAlignment));
    }
  }
  layout.all_bytes = uint64_t{layout.page_bytes} * config.n_pages;
  return layout;
}

}  // namespace

uint64_t KvStore::bytes_of(const KvStoreConfig& config) { return lay_out(config).all_bytes; }

uint64_t KvStore::beginning_bytes_of(const KvStoreConfig& config) {
  return lay_out(config).beginning_bytes;
}

uint64_t row_bytes(const RowShape& shape, KvKind k_kind, KvKind v_kind) {
  return shape.n_kv_heads * (kv_kind_info(k_kind).row_bytes(shape.head_dim) +
                             kv_kind_info(v_kind).row_bytes(shape.head_dim));
}

uint64_t KvStoreConfig::bytes_per_position() const {
  uint64_t sum = 0;
  for (const RowShape& shape : rows) sum += row_bytes(shape, k_kind, v_kind);
  return sum;
}

double KvStoreConfig::compression() const {
  const KvStoreConfig f32{.rows = rows};
  const uint64_t bytes = bytes_per_position();
  return bytes == 0 ? 1.0
                    : static_cast<double>(f32.bytes_per_position()) / static_cast<double>(bytes);
}

Result<std::shared_ptr<KvStore>> KvStore::create(const KvStoreConfig& config) {
  KINGLET_TRY(check_sizes(config));
  Layout layout = lay_out(config);
  KINGLET_ASSIGN(
      AlignedBuffer memory,
      AlignedBuffer::allocate(layout.all_bytes, cat("a KV cache of ", config.n_pages, " × ",
                                                    config.page_positions, " positions")));
  // Constructed only now: its tables have an entry for each page, and the pages may not fit.
  std::shared_ptr<KvStore> store(new KvStore(config));
  store->layers_ = std::move(layout.layers);
  store->page_bytes_ = layout.page_bytes;
  store->beginning_bytes_ = layout.beginning_bytes;
  store->memory_ = std::move(memory);
  return store;
}

uint32_t KvStore::take_copy(const KvStore& from, uint32_t page) {
  const uint32_t copy = pool_.take();
  std::copy_n(from.memory_.data() + page * page_bytes_, page_bytes_, this->page(copy));
  return copy;
}

uint32_t KvStore::own_page(uint32_t page) {
  const uint32_t own = take_copy(*this, page);
  pool_.release(page);
  ++n_page_copies_;
  return own;
}

}  // namespace kinglet
